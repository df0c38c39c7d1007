#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <string>
#include <vector>

namespace headrace::inline v1 {

/// Exchanges left and right of a picture, uint8 [H, W, C], and of its masks with probability p
/// (torchvision's RandomHorizontalFlip). DecodeImage does the same at no cost; so does Normalize in
/// a batch, with a `mark`.
struct HEADRACE_API HorizontalFlip {
  double p = 0.5;
  std::string field = "image";
  std::vector<std::string> masks = {};  ///< fields that go along (engine/sample/mask.h)
  /// Leaves the pixels alone and writes 1 or 0 to this new uint8 field instead: Normalize{.flips =
  /// mark} then mirrors while it reads. Nothing that knows left from right may come between.
  std::string mark = {};

  std::string name() const { return "flip"; }
  /// Throws ConfigError for a p outside [0, 1], a mark beside masks or in the place of a field, and
  /// fields that are no pictures or masks.
  Schema schema(const Schema& in) const;
  void operator()(Sample& sample, Random& random) const;
};

/// Exchanges top and bottom (torchvision's RandomVerticalFlip).
struct HEADRACE_API VerticalFlip {
  double p = 0.5;
  std::string field = "image";
  std::vector<std::string> masks = {};  ///< fields that go along (engine/sample/mask.h)

  std::string name() const { return "vertical flip"; }
  /// Throws ConfigError for a p outside [0, 1] and for fields that are no pictures or masks.
  Schema schema(const Schema& in) const;
  void operator()(Sample& sample, Random& random) const;
};

}  // namespace headrace::inline v1
