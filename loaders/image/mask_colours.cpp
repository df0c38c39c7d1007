#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/detail/colour_labels.h>

#include <set>
#include <string>

namespace headrace::inline v1 {

void check_mask_colours(std::span<const MaskColour> colours, const char* who) {
  std::set<std::uint32_t> seen;
  for (const MaskColour& colour : colours) {
    if (seen.insert(detail::number_of(colour)).second) continue;
    throw ConfigError("[" + std::string(who) +
                      "] mask_colours: " + detail::to_text(detail::number_of(colour)) +
                      " must come once, came twice; leave one out");
  }
}

}  // namespace headrace::inline v1
