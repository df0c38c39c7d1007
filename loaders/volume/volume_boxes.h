#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/sample/source.h>
#include <headrace/engine/tensor/dtype.h>
#include <headrace/loaders/volume/volume_case.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// A box of a case, all boxes of one size.
struct PlacedBox {
  std::int64_t volume = 0;              ///< number of the case
  std::array<std::int64_t, 3> begin{};  ///< z, y, x; may lie outside
};

struct VolumeBoxesOptions {
  std::array<std::int64_t, 3> extent{64, 64, 64};  ///< of each box, z, y, x
  double outside = 0.0;            ///< of an image beyond its volume, as the network sees it
  std::int64_t outside_label = 0;  ///< of a label
  bool with_labels = true;         ///< where the cases have some
  std::string image = "image";
  std::string label = "label";
};

/// Boxes of volumes, one a record, as they are named and in their order: windows of a grid for
/// inference. Fields: image float32 [C, Z, Y, X] (stored * scale + offset, then each channel's mean
/// and deviation; the same bits as of a patch that is cut there); label [Z, Y, X], where all cases
/// have one: uint8 if all are stored so, else int16. Reads through the caches of the cases, each
/// block once where the cache holds what neighbouring boxes share. Reads nothing ahead by itself:
/// the loader asks for the boxes of its next batches on all I/O threads. Const and thread-safe.
class HEADRACE_API VolumeBoxes final : public Source {
 public:
  /// Throws ConfigError for cases and boxes that do not fit together.
  VolumeBoxes(std::vector<VolumeCase> cases, std::vector<PlacedBox> boxes,
              VolumeBoxesOptions options);

  std::string name() const override;
  std::int64_t size() const override;
  Schema fields() const override;
  /// Throws DataError for volumes that cannot be read and labels that are none.
  void read(std::int64_t index, Sample& sample) const override;
  bool read_now(std::int64_t index, Sample& sample) const override;
  bool blocking() const override { return true; }
  std::size_t working_bytes(std::int64_t index) const override;
  std::size_t largest_working_bytes() const override;
  /// The caches of its volumes, full, and their indexes.
  std::size_t resident_bytes() const override;
  /// "case, window at z y x".
  std::string origin(std::int64_t index) const override;

 private:
  const VolumeCase& case_of(const PlacedBox& placed) const;
  VolumeBox box_of(const PlacedBox& placed) const;

  std::vector<VolumeCase> cases_;
  std::vector<PlacedBox> boxes_;
  VolumeBoxesOptions options_;
  std::int64_t channels_ = 0;
  bool labelled_ = false;
  DType label_dtype_ = DType::uint8;
};

}  // namespace headrace::inline v1
