#include <headrace/loaders/volume/block_cache.h>
#include <headrace/loaders/volume/detail/case/case_volume.h>
#include <headrace/loaders/volume/volume_values.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

/// Calls `look(channel, value)` for all voxels of the slice that are not 0 in some channel.
template <class Look>
void for_values(const CaseSlices& slices, const Look& look) {
  const auto voxels = static_cast<std::size_t>(slices.rows() * slices.columns());
  for (std::size_t voxel = 0; voxel < voxels; ++voxel) {
    if (slices.zero(voxel)) continue;
    for (std::size_t channel = 0; channel < slices.channels(); ++channel)
      look(channel, static_cast<double>(slices.values(channel)[voxel]));
  }
}

/// Of each channel of the slice. It is looked at twice: nothing of it is kept beside it.
std::vector<ValueFigures> figures_of(const CaseSlices& slices) {
  std::vector<ValueFigures> figures(slices.channels());
  for_values(slices, [&](std::size_t channel, double value) {
    ValueFigures& of = figures[channel];
    of.count += 1;
    of.mean += value;  // the sum, first
    of.low = std::min(of.low, value);
    of.high = std::max(of.high, value);
  });
  for (ValueFigures& of : figures)
    if (of.count > 0) of.mean /= of.count;
  for_values(slices, [&](std::size_t channel, double value) {
    const double distance = value - figures[channel].mean;
    figures[channel].squares += distance * distance;
    figures[channel].distances += std::abs(distance);
  });
  return figures;
}

void add_to(GrowingBox& box, const CaseSlices& slices, std::int64_t z) {
  std::size_t voxel = 0;
  for (std::int64_t y = 0; y < slices.rows(); ++y)
    for (std::int64_t x = 0; x < slices.columns(); ++x, ++voxel)
      if (!slices.zero(voxel)) box.add(z, y, x);
}

}  // namespace

ValueFigures ValueFigures::of_zeros(double count) noexcept {
  return count > 0 ? ValueFigures{.count = count, .low = 0, .high = 0} : ValueFigures{};
}

void ValueFigures::add(const ValueFigures& other) noexcept {
  if (other.count == 0) return;
  const double all = count + other.count;
  const double apart = other.mean - mean;
  squares += other.squares + apart * apart * count * other.count / all;
  distances += other.distances;
  mean += apart * other.count / all;
  count = all;
  low = std::min(low, other.low);
  high = std::max(high, other.high);
}

std::optional<CaseStatistics> case_statistics(const CaseFiles& files, std::size_t cache_bytes,
                                              const LabelValues& labels,
                                              const std::stop_token& stop) {
  CaseStatistics made{.channels = std::vector<ValueFigures>(files.channels())};
  CaseSlices slices(files, cache_bytes, labels);
  for (std::int64_t z = 0; z < files.info().shape[1]; ++z) {
    if (stop.stop_requested()) return {};
    slices.read(z);
    add_to(made.box, slices, z);
    const std::vector<ValueFigures> figures = figures_of(slices);
    for (std::size_t channel = 0; channel < files.channels(); ++channel)
      made.channels[channel].add(figures[channel]);
  }
  return made;
}

namespace {

constexpr double least_deviation = 1e-8;

ValueFigures all_of(const ChannelFigures& channel) {
  ValueFigures all = channel.others;
  all.add(ValueFigures::of_zeros(channel.zeros));
  return all;
}

}  // namespace

ChannelMap channel_map(const VolumeNormalization& normalization, const ChannelFigures& channel) {
  using Scheme = VolumeNormalization::Scheme;
  ChannelMap map;
  const auto standardize = [&map](double mean, double deviation) {
    map.mean = mean;
    map.deviation = std::max(deviation, least_deviation);
  };
  const ValueFigures all = all_of(channel);
  switch (normalization.scheme) {
    case Scheme::none:
      break;
    case Scheme::zscore:
      standardize(all.mean, all.deviation());
      break;
    case Scheme::zscore_nonzero:
      standardize(channel.others.mean, channel.others.deviation());
      map.zeros_stay = true;
      break;
    case Scheme::ct:
      map.low = normalization.low;
      map.high = normalization.high;
      standardize(normalization.mean, normalization.deviation);
      break;
    case Scheme::zero_to_one:
      standardize(all.low, all.high - all.low);
      break;
    case Scheme::by_255:
      map.deviation = 255;
      break;
  }
  return map;
}

MappedValues mapped_values(const ChannelMap& map, const ChannelFigures& channel) {
  // Those of zscore_nonzero lie on both sides of 0, which the other voxels become.
  const ValueFigures values = map.zeros_stay ? channel.others : all_of(channel);
  MappedValues mapped{
      .range = {static_cast<float>(map(values.low)), static_cast<float>(map(values.high))}};
  if (std::isinf(map.low) && channel.others.count > 0)
    mapped.spread = channel.others.distances / channel.others.count / map.deviation;
  return mapped;
}

namespace {

VolumeInfo info_of(const CropOf& crop, DType dtype) {
  VolumeInfo info{.dtype = dtype, .spacing = crop.grid.spacing, .affine = crop.grid.affine};
  info.shape[0] = static_cast<std::int64_t>(crop.channels.size());
  for (std::size_t axis = 0; axis < 3; ++axis) {
    info.shape[axis + 1] = crop.end[axis] - crop.begin[axis];
    info.block[axis + 1] = std::min(crop.block[axis], info.shape[axis + 1]);
    // Columns of the affine are x, y, z.
    for (std::size_t row = 0; row < 3; ++row)
      info.affine[4 * row + 3] +=
          info.affine[4 * row + 2 - axis] * static_cast<double>(crop.begin[axis]);
  }
  return info;
}

/// Values of the files, made into another volume's block by block.
class CropVolume : public Volume {
 public:
  CropVolume(CropOf crop, DType dtype)
      : Volume(info_of(crop, dtype), crop.channels.front()->volume().name()),
        crop_(std::move(crop)) {}

  bool reads_through(const BlockCache& cache) const noexcept override {
    return std::ranges::any_of(crop_.channels, [&cache](const auto& channel) {
      return &channel->cache() == &cache || channel->volume().reads_through(cache);
    });
  }

  std::size_t working_bytes() const override {
    std::size_t bytes = 0;
    for (const auto& channel : crop_.channels)
      bytes = std::max(bytes, channel->volume().working_bytes());
    return bytes + static_cast<std::size_t>(voxels_of(info().block)) *
                       (sizeof(double) + sizeof(float) + sizeof(char));
  }

 protected:
  std::size_t channels() const noexcept { return crop_.channels.size(); }

  /// A block's values in a channel; what of it lies outside the crop is any value.
  void read_values(std::size_t channel, const VolumeIndex& place, float* values) const {
    const CachedVolume& from = *crop_.channels[channel];
    VolumeBox box{{0, 0, 0, 0}, {1, 0, 0, 0}};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t side = info().block[axis + 1];
      box.begin[axis + 1] = crop_.begin[axis] + place[axis + 1] * side;
      box.end[axis + 1] = std::min(box.begin[axis + 1] + side, crop_.end[axis]);
    }
    const std::size_t element = size_of(from.info().dtype);
    std::vector<std::byte> stored(static_cast<std::size_t>(voxels_of(info().block)) * element);
    from.read_box(box, BoxMemory::dense(stored.data(), info().block, element));
    to_float(from.info(), stored, values);
  }

 private:
  CropOf crop_;
};

class NormalizedCrop final : public CropVolume {
 public:
  NormalizedCrop(CropOf crop, std::vector<ChannelMap> maps)
      : CropVolume(std::move(crop), DType::float32), maps_(std::move(maps)) {}

  std::uint64_t read_block(const VolumeIndex& place, std::span<std::byte> out) const override {
    const auto channel = static_cast<std::size_t>(place[0]);
    const ChannelMap& map = maps_[channel];
    const std::span values(reinterpret_cast<float*>(out.data()), out.size() / sizeof(float));
    read_values(channel, place, values.data());
    if (!map.zeros_stay) {
      for (float& value : values)
        value = static_cast<float>(map(value));
      return 0;
    }
    const std::vector<char> others = not_zero(place, values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = others[i] != 0 ? static_cast<float>(map(values[i])) : 0.0F;
    return 0;
  }

 private:
  /// Of a block's voxels those that are not 0 in some channel.
  std::vector<char> not_zero(const VolumeIndex& place, std::size_t voxels) const {
    std::vector<char> others(voxels);
    std::vector<float> values(voxels);
    for (std::size_t channel = 0; channel < channels(); ++channel) {
      read_values(channel, place, values.data());
      for (std::size_t i = 0; i < voxels; ++i)
        others[i] |= static_cast<char>(values[i] != 0.0F);
    }
    return others;
  }

  std::vector<ChannelMap> maps_;
};

class LabelCrop final : public CropVolume {
 public:
  using CropVolume::CropVolume;

  std::uint64_t read_block(const VolumeIndex& place, std::span<std::byte> out) const override {
    std::vector<float> values(static_cast<std::size_t>(voxels_of(info().block)));
    read_values(0, place, values.data());
    if (info().dtype == DType::uint8)
      put<std::uint8_t>(values, out);
    else
      put<std::int16_t>(values, out);
    return 0;
  }

 private:
  template <class T>
  static void put(const std::vector<float>& values, std::span<std::byte> out) {
    std::ranges::transform(values, reinterpret_cast<T*>(out.data()),
                           [](float value) { return static_cast<T>(value); });
  }
};

}  // namespace

std::shared_ptr<const Volume> normalized_crop(CropOf crop, std::vector<ChannelMap> maps) {
  return std::make_shared<const NormalizedCrop>(std::move(crop), std::move(maps));
}

std::shared_ptr<const Volume> label_crop(CropOf crop, DType dtype) {
  return std::make_shared<const LabelCrop>(std::move(crop), dtype);
}

}  // namespace headrace::inline v1::detail
