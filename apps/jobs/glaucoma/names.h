#pragma once

#include <array>
#include <string_view>

namespace headrace::inline v1::app {

/// Names of the six maps of a record, in the order in which they are paired: (0, 1), (2, 3), (4,
/// 5).
inline constexpr std::array<std::string_view, 6> glaucoma_map_names{
    "rnfl_input", "cup_disc_input", "rim_input", "juxta_input", "sheath_input", "macular_input"};

/// Classes of the job.
inline constexpr int glaucoma_classes = 5;

}  // namespace headrace::inline v1::app
