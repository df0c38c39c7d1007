#pragma once

#include <headrace/apps/plot/canvas.h>

/// The colours of all plots. Blue and orange are told apart by all eyes (Okabe, Ito, "Color
/// universal design", 2008).
namespace headrace::inline v1::app::look {

inline constexpr Colour paper{255, 255, 255};
inline constexpr Colour ink{34, 34, 34};
inline constexpr Colour faint{100, 100, 100};
inline constexpr Colour axis{120, 120, 120};
inline constexpr Colour grid{230, 230, 230};
inline constexpr Colour blue{0, 114, 178};
inline constexpr Colour orange{213, 94, 0};
inline constexpr TextStyle title{.height = 13.5, .colour = ink, .bold = true};
inline constexpr double title_height = 40.0;  ///< with a legend beside it

}  // namespace headrace::inline v1::app::look
