#include <headrace/loaders/listing/data_split.h>

#include <utility>
#include <vector>

namespace headrace::inline v1 {
namespace {

constexpr std::pair<std::string_view, DataSplit> words[] = {
    {"train", DataSplit::train},
    {"training", DataSplit::train},
    {"validation", DataSplit::validation},
    {"valid", DataSplit::validation},
    {"val", DataSplit::validation},
    {"dev", DataSplit::validation},
    {"test", DataSplit::test},
    {"testing", DataSplit::test},
};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::string_view name_of(DataSplit split) noexcept {
  switch (split) {
    case DataSplit::train:
      return "train";
    case DataSplit::validation:
      return "validation";
    case DataSplit::test:
      break;
  }
  return "test";
}

std::span<const std::string> split_words() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
    for (const auto& [name, split] : words)
      names.emplace_back(name);
    return names;
  }();
  return all;
}

std::optional<DataSplit> split_named(std::string_view word) {
  std::string small;
  for (const char c : word)
    small += lower(c);
  for (const auto& [name, split] : words) {
    if (small == name) return split;
  }
  return std::nullopt;
}

}  // namespace headrace::inline v1
