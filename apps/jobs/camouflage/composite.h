#pragma once

#include <headrace/apps/jobs/camouflage/picture_levels.h>
#include <headrace/engine/base/random.h>

#include <cstdint>
#include <vector>

namespace headrace::inline v1::app {

/// How a square of `size` pixels a side lies in a picture: centre, turn in radians, mirrored or
/// not.
struct Placement {
  double x = 0.0;
  double y = 0.0;
  double size = 0.0;
  double turn = 0.0;
  bool flip = false;
};

/// What is drawn for a picture in which an animal is hidden.
struct CompositeDraw {
  int side = 0;            ///< of the picture, in pixels
  Placement background{};  ///< of the picture in the background, in its pixels
  /// Of the animal in the picture, in the picture's pixels; `size` is its longer side.
  Placement animal{};
  double strength = 0.0;  ///< 0: as photographed; 1: with the colours of what is around it
};

/// A picture with an animal hidden in it.
struct Composite {
  std::vector<std::uint8_t> rgb{};   ///< [side, side, 3]
  std::vector<std::uint8_t> mask{};  ///< [side, side], 255 where the animal is, else 0
  std::vector<std::uint8_t> bare{};  ///< [side, side, 3], without the animal
};

/// Draws a part of the background, from a quarter of the largest square that fits up to all of it,
/// turned and mirrored; and an animal of .15 to .5 of the side, never enlarged beyond its own
/// pixels unless that is below .15, anywhere as long as it is wholly inside; strength from .5 to
/// .9. The background's shorter side must not be below `side`.
CompositeDraw draw_composite(const PictureLevels& background, const PictureLevels& animal, int side,
                             Random& random);

/// Puts the animal in: its mean and standard deviation in each channel of L*a*b* moved by
/// `strength` towards those of the background around it (spread at most doubled), its light
/// multiplied by the background's low frequencies, its edge feathered by a pixel. The mask is where
/// its alpha is above one half. A pure function of its arguments; thread-safe.
Composite compose(const PictureLevels& background, const PictureLevels& animal,
                  const CompositeDraw& draw);

}  // namespace headrace::inline v1::app
