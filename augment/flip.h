#pragma once

#include <string>

#include <headrace/engine/export.h>
#include <headrace/engine/field.h>
#include <headrace/engine/random.h>
#include <headrace/engine/sample.h>

namespace headrace::inline v1 {

/// Exchanges left and right of a picture, uint8 [H, W, C], with probability p (torchvision's
/// RandomHorizontalFlip). DecodeImage does the same at no cost.
struct HEADRACE_API HorizontalFlip {
  double p = 0.5;
  std::string field = "image";

  std::string name() const { return "flip"; }
  /// Throws ConfigError for a p outside [0, 1] and for fields that are no pictures.
  Schema schema(const Schema& in) const;
  void operator()(Sample& sample, Random& random) const;
};

}  // namespace headrace::inline v1
