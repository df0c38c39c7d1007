#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/sample/source.h>

#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// Image files with what is known of each, wherever they lie. Fields: "image", the bytes of a file
/// (ragged uint8); "mask", likewise, where there are masks; "label" (int64) and "weight" (float32)
/// where they are known.
class HEADRACE_API ImageSource : public Source {
 public:
  /// Class names, by label; empty where there are no labels.
  virtual const std::vector<std::string>& classes() const noexcept = 0;
  /// -1 where there are no labels.
  virtual std::int64_t label(std::int64_t index) const noexcept = 0;
  /// The label of every record, for Balanced orders and stratified folds; empty where there are
  /// none.
  virtual std::vector<std::int64_t> labels() const = 0;
  /// For Weighted orders; empty where there are none.
  virtual std::vector<double> weights() const = 0;
  /// For folds that keep a group (a patient, say) on one side: numbers from 0; empty where there
  /// are none.
  virtual std::vector<std::int64_t> groups() const = 0;
  virtual const std::vector<std::string>& group_names() const noexcept = 0;
  virtual bool has_masks() const noexcept = 0;
  /// Lengths of a record's files; 0 for no mask.
  virtual std::uint64_t image_bytes(std::int64_t index) const noexcept = 0;
  virtual std::uint64_t mask_bytes(std::int64_t index) const noexcept = 0;
};

}  // namespace headrace::inline v1
