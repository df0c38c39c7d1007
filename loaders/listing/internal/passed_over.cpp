#include <headrace/loaders/file/file_descriptor.h>
#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/listing/internal/passed_over.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>
#include <vector>

namespace headrace::inline v1::detail {

PassedOver::Kind& PassedOver::kind_of(const std::string& file) {
  constexpr std::size_t most_kinds = 256, longest = 20;
  std::string kind = printable(extension_of(file), longest);
  if (kind.empty()) kind = "without extension";
  const auto known = kinds_.find(kind);
  if (known != kinds_.end()) return known->second;
  return kinds_[kinds_.size() < most_kinds ? kind : "of other names"];
}

bool PassedOver::take(const std::string& file, bool (*begins)(std::span<const std::byte> start)) {
  constexpr std::uint64_t most_misses = 256;
  Kind& kind = kind_of(file);
  if (begins != nullptr && (kind.left_out < most_misses || kind.left_out < kind.taken)) {
    std::array<std::byte, 16> start{};
    const FileDescriptor opened(file.c_str());
    const std::int64_t got =
        opened.number() < 0 ? 0 : pread_all(opened.number(), start.data(), start.size(), 0);
    if (got > 0 && begins(std::span(start).first(static_cast<std::size_t>(got)))) {
      ++kind.taken;
      return true;
    }
  }
  ++kind.left_out;
  return false;
}

std::string PassedOver::counts(std::uint64_t Kind::*count) const {
  constexpr std::size_t most_named = 8;
  std::vector<std::pair<std::uint64_t, std::string>> found;
  for (const auto& [name, kind] : kinds_)
    if (kind.*count > 0) found.emplace_back(kind.*count, name);
  std::ranges::stable_sort(found, std::greater(), &std::pair<std::uint64_t, std::string>::first);
  std::uint64_t more = 0;
  std::string text;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i >= most_named) {
      more += found[i].first;
    } else {
      text += (i == 0 ? "" : ", ") + std::to_string(found[i].first) + " " + found[i].second;
    }
  }
  return more == 0 ? text : text + ", " + std::to_string(more) + " of other kinds";
}

std::string PassedOver::in_brackets() const {
  const std::string said = text();
  return said.empty() ? said : " (" + said + ")";
}

std::string PassedOver::text() const {
  const std::string left_out = counts(&Kind::left_out), taken = counts(&Kind::taken);
  return (left_out.empty() ? "" : "left out: " + left_out) +
         (left_out.empty() || taken.empty() ? "" : "; ") +
         (taken.empty() ? "" : "taken for their first bytes: " + taken);
}

}  // namespace headrace::inline v1::detail
