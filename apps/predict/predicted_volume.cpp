#include <headrace/apps/predict/predicted_volume.h>
#include <headrace/augment/volume/resample_scores.h>
#include <headrace/augment/volume/smooth_scores.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/literals.h>
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/loaders/volume/volume_values.h>
#include <headrace/loaders/volume/write_prediction.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include <fmt/format.h>

namespace headrace::inline v1::app {

VolumeSlices::VolumeSlices(const std::filesystem::path& file) : name_(file.string()) {
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

std::span<const float> VolumeSlices::read(std::int64_t z) {
  const VolumeInfo& info = volume_->info();
  const VolumeBox box{.begin = {0, z, 0, 0}, .end = {1, z + 1, info.shape[2], info.shape[3]}};
  volume_->read_box(box, BoxMemory::dense(stored_.data(), box.shape(), size_of(info.dtype)));
  to_float(info, stored_, values_.data());
  return values_;
}

bool is_zero_everywhere(const std::filesystem::path& file) {
  VolumeSlices slices(file);
  if (slices.shape()[0] != 1) return false;
  for (std::int64_t z = 0; z < slices.shape()[1]; ++z)
    if (!std::ranges::all_of(slices.read(z), [](float value) { return value == 0.0F; }))
      return false;
  return true;
}

namespace {

namespace fs = std::filesystem;

DType dtype_of_labels(std::int64_t classes) {
  return classes <= 256 ? DType::uint8 : DType::int16;
}

GridExtent crop_of(const PreparedCase& prepared) {
  GridExtent crop{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    crop[axis] = prepared.crop_end[axis] - prepared.crop_begin[axis];
  return crop;
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

VolumeDecision on_files(const VolumeDecision& decision, const PreparedCase& prepared) {
  if (!decision.of_prepared) return decision;
  std::array<double, 3> ratio{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    ratio[axis] = prepared.original_spacing[axis] / prepared.spacing[axis];
  return on_grid(decision, ratio);
}

template <class Label>
void predict_labels(const VolumeScores& scores, const PreparedCase& prepared,
                    const VolumeDecision& decision, std::vector<std::byte>& whole) {
  const GridExtent crop = crop_of(prepared);
  std::vector<Label> labels(static_cast<std::size_t>(voxels_of(crop)));
  std::optional<float> threshold;
  if (decision.threshold) threshold = static_cast<float>(*decision.threshold);
  labels_of_scores(scores.values, {.channels = scores.classes, .from = scores.extent, .to = crop},
                   threshold, std::span(labels));
  clean_labels(std::span(labels), crop, on_files(decision, prepared));
  whole.resize(static_cast<std::size_t>(voxels_of(prepared.original_extent)) * sizeof(Label));
  paste(labels, prepared, whole);
}

std::vector<float> smoothed_scores(const VolumeScores& scores, double deviation) {
  std::vector<float> made(scores.values.begin(), scores.values.end());
  const auto channel = static_cast<std::size_t>(voxels_of(scores.extent));
  for (std::size_t first = 0; first < made.size(); first += channel)
    smooth_scores(std::span(made).subspan(first, channel), scores.extent,
                  {deviation, deviation, deviation});
  return made;
}

// What may stand in a file of labels.
struct KnownLabels {
  std::int64_t classes = 2;
  std::optional<std::int64_t> ignore{};

  bool has(float value) const {
    constexpr auto largest = static_cast<float>(std::numeric_limits<std::int16_t>::max());
    if (!(value >= 0.0F && value <= largest)) return false;
    if (std::trunc(value) != value) return false;
    const auto label = static_cast<std::int64_t>(value);
    return label < classes || label == ignore;
  }

  std::string text() const {
    std::string said = fmt::format("a whole number of 0 to {}", classes - 1);
    if (ignore) said += fmt::format(", or {}, which counts nowhere", *ignore);
    return said;
  }
};

void read_labels(VolumeSlices& slices, std::int64_t z, const KnownLabels& known,
                 std::vector<std::int16_t>& labels) {
  const std::span<const float> values = slices.read(z);
  labels.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!known.has(values[i]))
      throw DataError(fmt::format("[predict] {}: a label must be {}, got {} in slice {}",
                                  slices.name(), known.text(), values[i], z));
    labels[i] = static_cast<std::int16_t>(values[i]);
  }
}

// What is predicted of voxels from `first` on: the truth beside it may have an ignored label that
// no byte holds.
void read_predicted(const PredictedVolume& predicted, std::size_t first,
                    std::vector<std::int16_t>& labels) {
  const std::byte* voxels = predicted.voxels.data() + first * size_of(predicted.info.dtype);
  if (predicted.info.dtype == DType::uint8)
    std::transform(voxels, voxels + labels.size(), labels.begin(),
                   [](std::byte label) { return std::to_integer<std::int16_t>(label); });
  else
    std::memcpy(labels.data(), voxels, labels.size() * sizeof(std::int16_t));
}

}  // namespace

PredictedVolume predicted_volume(const VolumeScores& scores, const PreparedCase& prepared,
                                 const VolumeDecision& decision) {
  const auto& extent = prepared.original_extent;
  PredictedVolume made{.info = {.shape = {1, extent[0], extent[1], extent[2]},
                                .block = {1, 1, extent[1], extent[2]},
                                .dtype = dtype_of_labels(scores.classes),
                                .spacing = prepared.original_spacing,
                                .affine = prepared.original_affine}};
  std::vector<float> smoothed;
  VolumeScores seen = scores;
  if (decision.smooth > 0.0) {
    smoothed = smoothed_scores(scores, decision.smooth);
    seen.values = smoothed;
  }
  if (made.info.dtype == DType::uint8)
    predict_labels<std::uint8_t>(seen, prepared, decision, made.voxels);
  else
    predict_labels<std::int16_t>(seen, prepared, decision, made.voxels);
  return made;
}

PredictedVolume background(const fs::path& image, std::int64_t classes) {
  const VolumeInfo info = open_volume(image)->info();
  const VolumeIndex& shape = info.shape;
  PredictedVolume made{.info = {.shape = {1, shape[1], shape[2], shape[3]},
                                .block = {1, 1, shape[2], shape[3]},
                                .dtype = dtype_of_labels(classes),
                                .spacing = info.spacing,
                                .affine = info.affine}};
  made.voxels.resize(static_cast<std::size_t>(shape[1] * shape[2] * shape[3]) *
                     size_of(made.info.dtype));
  return made;
}

std::vector<ClassOverlap> overlaps_with(const PredictedVolume& predicted, const fs::path& labels,
                                        std::int64_t classes, std::optional<std::int64_t> ignore) {
  VolumeSlices slices(labels);
  const KnownLabels known{.classes = classes, .ignore = ignore};
  if (slices.shape() != predicted.info.shape) {
    const VolumeIndex& got = slices.shape();
    const VolumeIndex& wanted = predicted.info.shape;
    throw DataError(fmt::format(
        "[predict] {}: a label must have its image's shape, {}x{}x{} and one channel, got {}x{}x{} "
        "and {}; name another folder with --labels",
        labels.string(), wanted[1], wanted[2], wanted[3], got[1], got[2], got[3], got[0]));
  }
  std::vector<ClassOverlap> sums(static_cast<std::size_t>(classes));
  std::vector<std::int16_t> truth;
  std::vector<std::int16_t> said;
  for (std::int64_t z = 0; z < slices.shape()[1]; ++z) {
    read_labels(slices, z, known, truth);
    said.resize(truth.size());
    read_predicted(predicted, static_cast<std::size_t>(z) * truth.size(), said);
    const std::vector<ClassOverlap> of_slice = label_overlaps(said, truth, classes, ignore);
    for (std::size_t i = 0; i < sums.size(); ++i)
      sums[i] += of_slice[i];
  }
  return sums;
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
