#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/listing/labelled_source.h>

#include <cstdint>

namespace headrace::inline v1 {

/// Image files with what is known of each, wherever they lie. Fields: "image", the bytes of a file
/// (ragged uint8); "mask", likewise, where there are masks; and those of LabelledSource.
class HEADRACE_API ImageSource : public LabelledSource {
 public:
  virtual bool has_masks() const noexcept = 0;
  /// Lengths of a record's files; 0 for no mask.
  virtual std::uint64_t image_bytes(std::int64_t index) const noexcept = 0;
  virtual std::uint64_t mask_bytes(std::int64_t index) const noexcept = 0;
};

}  // namespace headrace::inline v1
