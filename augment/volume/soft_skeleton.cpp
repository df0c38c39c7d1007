#include <headrace/augment/volume/detail/bit_morphology.h>
#include <headrace/augment/volume/detail/labels.h>
#include <headrace/augment/volume/soft_skeleton.h>

#include <utility>

namespace headrace::inline v1 {
namespace {

class Skeletons {
 public:
  /// In place.
  void make(std::span<std::uint8_t> voxels, const GridExtent& extent, const SoftSkeleton& rule) {
    const bool cross = rule.operators == SoftSkeleton::Operators::cross;
    morphology_.begin(extent);
    volume_.mark(voxels, extent);
    for (VoxelBits* bits : {&eroded_, &opened_, &skeleton_})
      bits->clear(extent);
    for (int left = cross ? rule.iterations : rule.iterations - 1; left >= 0; --left) {
      cross ? morphology_.erode_cross(volume_, eroded_) : morphology_.erode_cube(volume_, eroded_);
      morphology_.dilate_cube(eroded_, opened_);
      add_opened_away();
      std::swap(volume_, eroded_);
    }
    skeleton_.put(voxels);
  }

 private:
  void add_opened_away() {
    const std::int64_t words = volume_.extent()[0] * volume_.slice_words();
    const std::uint64_t* volume = volume_.row(0, 0);
    const std::uint64_t* opened = opened_.row(0, 0);
    std::uint64_t* skeleton = skeleton_.row(0, 0);
    for (std::int64_t i = 0; i < words; ++i)
      skeleton[i] |= volume[i] & ~opened[i];
  }

  detail::BitMorphology morphology_{};
  VoxelBits volume_{};
  VoxelBits eroded_{};
  VoxelBits opened_{};
  VoxelBits skeleton_{};
};

}  // namespace

Schema SoftSkeleton::schema(const Schema& in) const {
  const FieldSpec& label = detail::label_field(in, field, name());
  if (iterations < 1 || iterations > 100) {
    throw ConfigError("[" + name() + "] iterations must be 1 to 100, got " +
                      std::to_string(iterations));
  }
  if (to == field) throw ConfigError("[" + name() + "] to must be another field than the label");
  Schema out = in;
  FieldSpec skeleton = label;
  skeleton.name = to;
  skeleton.dtype = DType::uint8;
  skeleton.fill = 0;
  out.put(skeleton);
  return out;
}

std::size_t SoftSkeleton::working_bytes(const Schema& in) const {
  const GridExtent extent = detail::label_extent(detail::label_field(in, field, name()).shape);
  return detail::BitMorphology::bytes(extent) + 4 * VoxelBits::bytes(extent);
}

void SoftSkeleton::operator()(Sample& sample) const {
  static thread_local Skeletons skeletons;
  const Tensor label = detail::label_of(sample, field);
  auto* out = sample.make(to, DType::uint8, label.shape()).data<std::uint8_t>();
  detail::mark_labels(label, labels, ignore, out);
  skeletons.make({out, static_cast<std::size_t>(label.elements())},
                 detail::label_extent(label.shape()), *this);
}

}  // namespace headrace::inline v1
