#include <headrace/models/networks/name_pattern.h>

#include <algorithm>
#include <cstddef>

namespace headrace::inline v1::models {

bool fits_pattern(const std::string& name, const std::string& pattern) {
  std::size_t place = 0;
  for (std::size_t first = 0; first <= pattern.size();) {
    const std::size_t star = std::min(pattern.find('*', first), pattern.size());
    const std::size_t found = name.find(pattern.substr(first, star - first), place);
    if (found == std::string::npos) return false;
    place = found + (star - first);
    first = star + 1;
  }
  return true;
}

bool fits_any(const std::string& name, const std::vector<std::string>& patterns) {
  return std::ranges::any_of(
      patterns, [&](const std::string& pattern) { return fits_pattern(name, pattern); });
}

}  // namespace headrace::inline v1::models
