#pragma once

#include <headrace/augment/interpolation.h>
#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// `ops` operations of one strength, each drawn from the list, on a picture, uint8 [H, W, 1 or 3]
/// (Cubuk, Zoph, Shlens, Le: "RandAugment", CVPR workshops 2020; torchvision's list and strengths).
/// Masks follow what shears, moves and turns. The same bytes on every vector width.
struct HEADRACE_API RandAugment {
  enum class Op : unsigned char {
    identity,
    shear_x,  ///< by tangents up to 0.3, either way
    shear_y,
    translate_x,  ///< by whole pixels up to 150 / 331 of the width, either way
    translate_y,
    rotate,      ///< by up to 30 degrees, either way
    brightness,  ///< factors 1 +- up to 0.9
    color,       ///< saturation, likewise
    contrast,    ///< likewise
    sharpness,   ///< likewise
    posterize,   ///< 8 down to 4 bits kept
    solarize,    ///< levels above a threshold of 255 down to 0 inverted
    autocontrast,
    equalize,
  };
  static constexpr int op_count = 14;

  int ops = 2;
  int magnitude = 9;  ///< 0 to bins - 1
  int bins = 31;
  Interpolation interpolation = Interpolation::nearest;
  std::optional<std::uint8_t> fill{};  ///< where nothing of the picture is; none is black
  std::string field = "image";
  std::vector<std::string> masks = {};  ///< fields that go along (engine/sample/mask.h)
  std::uint16_t mask_fill = 0;          ///< their label where nothing of the picture is

  std::string name() const { return "rand augment"; }
  /// Throws ConfigError for parameters that cannot be right and for fields that are no pictures of
  /// 1 or 3 channels, or no masks.
  Schema schema(const Schema& in) const;
  /// Draws each operation and, where it has one, its sign.
  void operator()(Sample& sample, Random& random) const;

  /// What torchvision's table gives for the operation at this strength on such a picture.
  double strength(Op op, std::int64_t height, std::int64_t width) const;
  /// One operation at a given strength, sign included.
  void apply(Sample& sample, Op op, double strength) const;
};

}  // namespace headrace::inline v1
