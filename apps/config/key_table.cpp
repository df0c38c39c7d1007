#include <headrace/apps/config/key_table.h>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

// A bar would end the cell.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char c : text)
    escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return escaped.empty() ? "" : " " + escaped;
}

// "0.0 to 1.0 degrees" of "at least 0.0 and at most 1.0".
std::string short_range(const KeyDoc& key) {
  constexpr std::string_view least = "at least ";
  constexpr std::string_view most = " and at most ";
  std::string range = key.range;
  const auto middle = range.find(most);
  if (range.starts_with(least) && middle != std::string::npos)
    range = range.substr(least.size(), middle - least.size()) + " to " +
            range.substr(middle + most.size());
  if (!range.empty() && !key.unit.empty()) range += ' ';
  return range + key.unit;
}

std::string meaning(const KeyDoc& key) {
  if (key.used_when.empty()) return key.doc;
  return fmt::format("{}{}only where {}", key.doc, key.doc.empty() ? "" : "; ", key.used_when);
}

}  // namespace

std::string key_table(const std::vector<KeyDoc>& keys, std::string_view heading) {
  std::string rows;
  for (const KeyDoc& key : keys) {
    if (key.value.empty()) continue;
    rows +=
        fmt::format("| `{}` |{} |{} |{} |\n", key.name, cell(key.required ? "required" : key.value),
                    cell(short_range(key)), cell(meaning(key)));
  }
  if (rows.empty()) return rows;
  return fmt::format("| {} | default | range | meaning |\n| --- | --- | --- | --- |\n{}", heading,
                     rows);
}

}  // namespace headrace::inline v1::app
