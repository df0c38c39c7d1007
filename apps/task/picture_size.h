#pragma once

#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <string>

namespace headrace::inline v1::app {

/// Says how large a picture is before it is decoded: from the bytes of the file in "image" the
/// field "picture_size", int64 [2], height and width as a viewer shows it (EXIF orientation
/// applied). Throws DataError for what is no picture.
struct PictureSize {
  static constexpr const char* field = "picture_size";

  std::string name() const { return "picture_size"; }
  Schema schema(const Schema& in) const;
  void operator()(Sample& sample) const;
};

}  // namespace headrace::inline v1::app
