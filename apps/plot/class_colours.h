#pragma once

#include <headrace/apps/plot/canvas.h>

#include <cstdint>

namespace headrace::inline v1::app {

/// The colour of a class of pixels, 0 to 255, each another one: 0, the background, is black, the
/// next seven are those that all eyes tell apart (Okabe, Ito, "Color universal design", 2008), the
/// rest those of the palette of PASCAL VOC's masks.
Colour class_colour(std::uint8_t label);

}  // namespace headrace::inline v1::app
