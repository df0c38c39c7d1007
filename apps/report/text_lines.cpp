#include <headrace/apps/report/text_lines.h>

#include <fstream>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {
namespace {

constexpr std::size_t piece = std::size_t{1} << 18;

// Cuts what comes in pieces into lines.
class LineCutter {
 public:
  LineCutter(const std::function<void(const std::string&)>& take, LineCount& count)
      : take_(take), count_(count) {}

  void add(std::string_view text) {
    for (;;) {
      const std::size_t end = text.find('\n');
      keep(text.substr(0, end));
      if (end == std::string_view::npos) return;
      finish();
      text.remove_prefix(end + 1);
    }
  }

  void end() {
    if (!line_.empty() || too_long_) finish();
  }

 private:
  void keep(std::string_view part) {
    too_long_ = too_long_ || line_.size() + part.size() > longest_line;
    if (!too_long_) line_ += part;
  }

  void finish() {
    if (too_long_) {
      ++count_.broken;
    } else {
      ++count_.lines;
      take_(line_);
    }
    line_.clear();
    too_long_ = false;
  }

  const std::function<void(const std::string&)>& take_;
  LineCount& count_;
  std::string line_;
  bool too_long_ = false;
};

}  // namespace

LineCount for_each_line(const std::filesystem::path& file,
                        const std::function<void(const std::string& line)>& take) {
  LineCount count;
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return count;
  std::ifstream stream(file, std::ios::binary);
  count.refused = !stream;
  count.there = !count.refused;
  LineCutter cutter(take, count);
  std::vector<char> bytes(piece);
  while (stream) {
    stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    cutter.add({bytes.data(), static_cast<std::size_t>(stream.gcount())});
  }
  cutter.end();
  return count;
}

LineCount for_each_object(const std::filesystem::path& file,
                          const std::function<void(const nlohmann::json& object)>& take) {
  std::uint64_t broken = 0;
  LineCount count = for_each_line(file, [&](const std::string& line) {
    if (line.empty()) return;
    const nlohmann::json object =
        nests_deeply(line) ? nlohmann::json() : nlohmann::json::parse(line, nullptr, false);
    if (object.is_object())
      take(object);
    else
      ++broken;
  });
  count.lines -= broken;
  count.broken += broken;
  return count;
}

bool nests_deeply(std::string_view json) {
  constexpr int deepest = 64;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < json.size() && depth <= deepest; ++i) {
    const char c = json[i];
    if (c == '"') quoted = !quoted;
    if (quoted && c == '\\') ++i;
    if (quoted) continue;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
  }
  return depth > deepest;
}

double number_in(const nlohmann::json& object, const char* name, double otherwise) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>() : otherwise;
}

std::string text_in(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return {};
  if (found->is_string()) return found->get<std::string>();
  return found->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace headrace::inline v1::app
