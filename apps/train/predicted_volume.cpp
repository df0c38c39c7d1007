#include <headrace/apps/train/predicted_volume.h>
#include <headrace/augment/volume/closing.h>
#include <headrace/augment/volume/components.h>
#include <headrace/augment/volume/resample_scores.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/literals.h>
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/loaders/volume/volume_reader.h>
#include <headrace/loaders/volume/volume_values.h>
#include <headrace/loaders/volume/write_prediction.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t most_classes_of_bytes = 256;

GridExtent crop_of(const PreparedCase& prepared) {
  GridExtent crop{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    crop[axis] = prepared.crop_end[axis] - prepared.crop_begin[axis];
  return crop;
}

template <class Label>
void clean(std::vector<Label>& labels, const GridExtent& extent,
           const VolumePredictSettings& predict) {
  if (predict.smallest > 1 || predict.largest_only)
    remove_components(std::span(labels), extent,
                      {.least = predict.smallest, .keep_largest = predict.largest_only});
  if (predict.closing > 0)
    close_labels(std::span(labels), extent, {.radius = static_cast<double>(predict.closing)});
}

// Into the whole, which is 0.
template <class Label>
void paste(const std::vector<Label>& labels, const PreparedCase& prepared,
           std::vector<std::byte>& whole) {
  const GridExtent crop = crop_of(prepared);
  const auto& extent = prepared.original_extent;
  const auto row = static_cast<std::size_t>(crop[2]);
  const Label* from = labels.data();
  for (std::int64_t z = 0; z < crop[0]; ++z)
    for (std::int64_t y = 0; y < crop[1]; ++y, from += row) {
      const std::int64_t place =
          ((z + prepared.crop_begin[0]) * extent[1] + y + prepared.crop_begin[1]) * extent[2] +
          prepared.crop_begin[2];
      std::memcpy(whole.data() + static_cast<std::size_t>(place) * sizeof(Label), from,
                  row * sizeof(Label));
    }
}

template <class Label>
void predict_labels(const VolumeScores& scores, const PreparedCase& prepared,
                    const VolumePredictSettings& predict, std::vector<std::byte>& whole) {
  const GridExtent crop = crop_of(prepared);
  std::vector<Label> labels(static_cast<std::size_t>(voxels_of(crop)));
  labels_of_scores(scores.values, {.channels = scores.classes, .from = scores.extent, .to = crop},
                   std::nullopt, std::span(labels));
  clean(labels, crop, predict);
  whole.resize(static_cast<std::size_t>(voxels_of(prepared.original_extent)) * sizeof(Label));
  paste(labels, prepared, whole);
}

// A volume's slices as labels, one after the other.
class LabelSlices {
 public:
  explicit LabelSlices(const fs::path& file) : name_(file.string()) {
    const std::shared_ptr<const Volume> volume = open_volume(file);
    const VolumeInfo& info = volume->info();
    const VolumeIndex grid = info.grid();
    const auto layer = static_cast<std::size_t>(grid[2] * grid[3]) * info.block_bytes();
    volume_ = std::make_shared<const CachedVolume>(
        volume, std::make_shared<BlockCache>(std::max<std::size_t>(2 * layer, 64_MiB)));
    const auto voxels = static_cast<std::size_t>(info.shape[2] * info.shape[3]);
    stored_.resize(voxels * size_of(info.dtype));
    values_.resize(voxels);
  }

  const VolumeIndex& shape() const { return volume_->info().shape; }

  template <class Label>
  void read(std::int64_t z, std::vector<Label>& labels) {
    const VolumeInfo& info = volume_->info();
    const VolumeBox box{.begin = {0, z, 0, 0}, .end = {1, z + 1, info.shape[2], info.shape[3]}};
    volume_->read_box(box, BoxMemory::dense(stored_.data(), box.shape(), size_of(info.dtype)));
    to_float(info, stored_, values_.data());
    labels.resize(values_.size());
    constexpr auto most = static_cast<float>(std::numeric_limits<Label>::max());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const float value = values_[i];
      if (!(value >= 0.0F && value <= most && std::trunc(value) == value))
        throw DataError(
            fmt::format("[predict] {}: a label must be a whole number of 0 to {}, got "
                        "{} in slice {}",
                        name_, most, value, z));
      labels[i] = static_cast<Label>(value);
    }
  }

 private:
  std::string name_;
  std::shared_ptr<const CachedVolume> volume_;
  std::vector<std::byte> stored_;
  std::vector<float> values_;
};

template <class Label>
std::vector<ClassOverlap> count(const PredictedVolume& predicted, LabelSlices& slices,
                                std::int64_t classes, std::optional<std::int64_t> ignore) {
  std::vector<ClassOverlap> sums(static_cast<std::size_t>(classes));
  std::vector<Label> truth;
  const VolumeIndex& shape = predicted.info.shape;
  const auto voxels = static_cast<std::size_t>(shape[2] * shape[3]);
  const auto* labels = reinterpret_cast<const Label*>(predicted.voxels.data());
  for (std::int64_t z = 0; z < shape[1]; ++z) {
    slices.read(z, truth);
    const auto of_slice = label_overlaps(
        std::span(labels + static_cast<std::size_t>(z) * voxels, voxels), truth, classes, ignore);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i].hits += of_slice[i].hits;
      sums[i].false_alarms += of_slice[i].false_alarms;
      sums[i].misses += of_slice[i].misses;
    }
  }
  return sums;
}

}  // namespace

PredictedVolume predicted_volume(const VolumeScores& scores, const PreparedCase& prepared,
                                 const VolumePredictSettings& predict) {
  const auto& extent = prepared.original_extent;
  PredictedVolume made{.info = {.shape = {1, extent[0], extent[1], extent[2]},
                                .block = {1, 1, extent[1], extent[2]},
                                .dtype = DType::uint8,
                                .spacing = prepared.original_spacing,
                                .affine = prepared.original_affine}};
  if (scores.classes <= most_classes_of_bytes) {
    predict_labels<std::uint8_t>(scores, prepared, predict, made.voxels);
  } else {
    made.info.dtype = DType::int16;
    predict_labels<std::int16_t>(scores, prepared, predict, made.voxels);
  }
  return made;
}

std::vector<ClassOverlap> overlaps_with(const PredictedVolume& predicted, const fs::path& labels,
                                        std::int64_t classes, std::optional<std::int64_t> ignore) {
  LabelSlices slices(labels);
  if (slices.shape() != predicted.info.shape) {
    const VolumeIndex& got = slices.shape();
    const VolumeIndex& wanted = predicted.info.shape;
    throw DataError(fmt::format(
        "[predict] {}: a label must have its image's shape, {}x{}x{} and one channel, got {}x{}x{} "
        "and {}; name another folder with --labels",
        labels.string(), wanted[1], wanted[2], wanted[3], got[1], got[2], got[3], got[0]));
  }
  if (predicted.info.dtype == DType::uint8)
    return count<std::uint8_t>(predicted, slices, classes, ignore);
  return count<std::int16_t>(predicted, slices, classes, ignore);
}

fs::path prediction_name(const NnUNetCase& of) {
  // NAME_0000.ENDING
  const std::string file = of.images.front().filename().string();
  const std::size_t dot = file.find('.', std::min(of.name.size(), file.size()));
  const std::string ending = dot == std::string::npos ? "" : file.substr(dot);
  const fs::path same = of.name + ending;
  return writes_prediction(same) ? same : fs::path(of.name + ".nii.gz");
}

}  // namespace headrace::inline v1::app
