#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <string>
#include <vector>

namespace headrace::inline v1 {

/// The central height x width of a picture, uint8 [H, W, C], and of its masks; odd margins are
/// rounded half to even, as torchvision does. Unlike torchvision it does not pad pictures that are
/// smaller: they are refused.
struct HEADRACE_API CenterCrop {
  int height = 224;
  int width = 224;
  std::string field = "image";
  std::vector<std::string> masks = {};  ///< fields that go along (engine/sample/mask.h)

  std::string name() const { return "center crop"; }
  /// Throws ConfigError for fields that are no pictures or masks, or that are smaller.
  Schema schema(const Schema& in) const;
  /// Throws DataError for a picture that is smaller.
  void operator()(Sample& sample) const;
};

}  // namespace headrace::inline v1
