#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/sample/source.h>
#include <headrace/loaders/volume/patch_sampler.h>
#include <headrace/loaders/volume/resample_patch.h>
#include <headrace/loaders/volume/spatial_transform.h>
#include <headrace/loaders/volume/volume_case.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1 {

struct VolumePatchesOptions {
  std::array<std::int64_t, 3> patch{64, 64, 64};  ///< voxels along z, y, x
  PatchSampling sampling{};
  SpatialTransform transform{};
  std::uint64_t seed = 0;
  /// What of an image lies outside a volume, as the network sees it.
  double outside = 0.0;
  /// Outside is the nearest voxel instead.
  bool edge = false;
  /// What of a label lies outside; where a label is ignored, that one.
  std::int64_t outside_label = 0;
  bool with_labels = true;
  std::string image = "image";
  std::string label = "label";
};

/// Patches of volumes, one a record; Expanded gives several a visit. Reads what the patch's map
/// needs, no more, through the cache of blocks: the box of stored voxels (field `image`, ragged) of
/// all channels, the same of the label, and the map (PatchFields). ResamplePatch makes patches of
/// them, on the CPU or, after batch(), on a device.
///
/// What is drawn depends on seed, epoch, position and the volume alone. Const and thread-safe.
class HEADRACE_API VolumePatches final : public Source {
 public:
  /// Throws ConfigError for options and cases that do not fit together.
  VolumePatches(std::vector<VolumeCase> cases, VolumePatchesOptions options);
  ~VolumePatches() override;

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
  std::string origin(std::int64_t index) const override;

  /// The step that belongs to it.
  ResamplePatch resample(LabelSampling labels = LabelSampling::one_hot) const;

 private:
  struct Drawn;
  bool draw(std::int64_t index, const Origin& origin, bool may_wait, Drawn& drawn) const;
  bool draw_anywhere(const VolumeCase& of, Drawn& drawn, bool may_wait) const;
  bool draw_middle(const VolumeCase& of, Drawn& drawn, bool may_wait) const;
  bool is_ignored(const VolumeCase& of, const Drawn& drawn) const;
  bool fill(std::int64_t index, Sample& sample, bool may_wait) const;
  void fill_image(const VolumeCase& of, const Drawn& drawn, Sample& sample) const;
  void fill_label(const VolumeCase& of, const Drawn& drawn, Sample& sample) const;
  void fill_map(const VolumeCase& of, const Drawn& drawn, Sample& sample) const;
  /// The label outside.
  std::int64_t beyond() const noexcept {
    return options_.sampling.ignore.value_or(options_.outside_label);
  }

  std::vector<VolumeCase> cases_;
  VolumePatchesOptions options_;
  std::int64_t channels_ = 0;
  DType image_dtype_ = DType::uint8;
  DType label_dtype_ = DType::uint8;
  std::int64_t largest_box_ = 0;
  std::int64_t most_moves_ = 0;
};

}  // namespace headrace::inline v1
