#include <headrace/engine/base/nearest.h>

#include <algorithm>
#include <vector>

namespace headrace::inline v1 {
namespace {

constexpr std::size_t longest_compared = 128;

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::optional<std::string> nearest_name(std::string_view written,
                                        std::span<const std::string> names) {
  if (written.size() > longest_compared) return std::nullopt;
  const std::string* best = nullptr;
  std::size_t least = 0;
  for (const std::string& name : names) {
    if (name.size() > longest_compared) continue;
    const std::size_t distance = edit_distance(written, name);
    const std::size_t allowed = std::max<std::size_t>(1, std::max(name.size(), written.size()) / 3);
    if (distance > allowed || (best != nullptr && distance >= least)) continue;
    best = &name;
    least = distance;
  }
  if (best == nullptr) return std::nullopt;
  return *best;
}

std::string did_you_mean(std::string_view written, std::span<const std::string> names) {
  const auto meant = nearest_name(written, names);
  return meant ? "; did you mean \"" + *meant + "\"?" : std::string();
}

}  // namespace headrace::inline v1
