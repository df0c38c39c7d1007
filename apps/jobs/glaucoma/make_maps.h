#pragma once

#include <array>
#include <cstdint>

namespace headrace::inline v1::app {

/// The six maps of one grey image, each `side` x `side` uint8, row-major: the image itself, the
/// magnitude of its gradient (Sobel), two Gaussian blurs (sigma 1 and 2 pixels of the original
/// scale), two rotations (+10 and -10 degrees). `image` is 28 x 28 uint8; other sides are reached
/// by bilinear resizing (area averaging where it shrinks). Thread-safe.
void make_glaucoma_maps(const std::uint8_t* image, int side,
                        const std::array<std::uint8_t*, 6>& maps);

}  // namespace headrace::inline v1::app
