#pragma once

#include <string>

#include <headrace/engine/export.h>
#include <headrace/engine/field.h>
#include <headrace/engine/sample.h>

namespace headrace::inline v1 {

/// The central height x width of a picture, uint8 [H, W, C]; odd margins are rounded half to even,
/// as torchvision does.
struct HEADRACE_API CenterCrop {
  int height = 224;
  int width = 224;
  std::string field = "image";

  std::string name() const { return "center crop"; }
  /// Throws ConfigError for fields that are no pictures or that are smaller.
  Schema schema(const Schema& in) const;
  /// Throws DataError for a picture that is smaller.
  void operator()(Sample& sample) const;
};

}  // namespace headrace::inline v1
