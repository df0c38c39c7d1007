#include <headrace/augment/volume/components.h>
#include <headrace/benchmarks/surface/sheet.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/block_cache.h>
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/loaders/volume/volume_reader.h>
#include <headrace/models/metrics/mask_pair.h>
#include <headrace/models/metrics/surface_dice.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>

namespace headrace::inline v1::bench {
namespace {

using Offset = std::array<std::int64_t, 3>;

// Of a ball, the nearest first.
std::vector<Offset> ball(double radius) {
  const auto most = static_cast<std::int64_t>(std::floor(radius));
  const auto square = [](const Offset& o) { return o[0] * o[0] + o[1] * o[1] + o[2] * o[2]; };
  std::vector<Offset> offsets;
  for (std::int64_t z = -most; z <= most; ++z)
    for (std::int64_t y = -most; y <= most; ++y)
      for (std::int64_t x = -most; x <= most; ++x)
        if (static_cast<double>(square({z, y, x})) <= radius * radius) offsets.push_back({z, y, x});
  std::ranges::stable_sort(offsets, {}, square);
  return offsets;
}

std::int64_t count_near(const Sheet& of, const Sheet& other, const std::vector<Offset>& offsets) {
  const auto [depth, rows, columns] = of.extent;
  const auto there = [&](std::int64_t z, std::int64_t y, std::int64_t x) {
    return z >= 0 && z < depth && y >= 0 && y < rows && x >= 0 && x < columns &&
           other.voxels[static_cast<std::size_t>((z * rows + y) * columns + x)] != 0;
  };
  std::int64_t count = 0;
  std::size_t at = 0;
  for (std::int64_t z = 0; z < depth; ++z)
    for (std::int64_t y = 0; y < rows; ++y)
      for (std::int64_t x = 0; x < columns; ++x, ++at)
        if (of.voxels[at] != 0 && std::ranges::any_of(offsets, [&](const Offset& o) {
              return there(z + o[0], y + o[1], x + o[2]);
            }))
          ++count;
  return count;
}

template <class T>
void widen(const std::vector<std::byte>& from, std::vector<float>& to) {
  to.resize(from.size() / sizeof(T));
  for (std::size_t i = 0; i < to.size(); ++i) {
    T value;
    std::memcpy(&value, from.data() + i * sizeof(T), sizeof(T));
    to[i] = static_cast<float>(value);
  }
}

void widen(DType dtype, const std::vector<std::byte>& from, Scan& scan) {
  switch (dtype) {
    case DType::uint8:
      return widen<std::uint8_t>(from, scan.values);
    case DType::int16:
      return widen<std::int16_t>(from, scan.values);
    case DType::float32:
      return widen<float>(from, scan.values);
    default:
      throw DataError("[surface] " + scan.file.string() +
                      " must be uint8, int16 or float32, got another type");
  }
}

}  // namespace

Scan read_scan(const std::filesystem::path& file) {
  const std::shared_ptr<const Volume> volume = open_volume(file);
  const VolumeInfo& info = volume->info();
  const auto& s = info.spacing;
  if (info.shape[0] != 1 || std::abs(s[0] - s[1]) > 1e-3 || std::abs(s[0] - s[2]) > 1e-3)
    throw DataError("[surface] " + file.string() +
                    " must have one channel and the same spacing along all axes");
  Scan scan{.file = file,
            .extent = {info.shape[1], info.shape[2], info.shape[3]},
            .spacing = s[0] > 0.0 ? s[0] : 1.0};
  std::vector<std::byte> voxels(static_cast<std::size_t>(voxels_of(info.shape)) *
                                size_of(info.dtype));
  const auto cache = std::make_shared<BlockCache>(info.block_bytes());
  CachedVolume(volume, cache)
      .read_box({{}, info.shape}, BoxMemory::dense(voxels.data(), info.shape, size_of(info.dtype)));
  widen(info.dtype, voxels, scan);
  return scan;
}

Sheet sheet_of(const Scan& labels, float label) {
  Sheet sheet{.extent = labels.extent, .voxels = std::vector<std::uint8_t>(labels.values.size())};
  for (std::size_t i = 0; i < sheet.voxels.size(); ++i)
    sheet.voxels[i] = labels.values[i] == label ? 1 : 0;
  return sheet;
}

Sheet above(const Scan& scan, float threshold, bool below) {
  Sheet sheet{.extent = scan.extent, .voxels = std::vector<std::uint8_t>(scan.values.size())};
  for (std::size_t i = 0; i < sheet.voxels.size(); ++i)
    sheet.voxels[i] = (scan.values[i] > threshold) != below ? 1 : 0;
  return sheet;
}

void keep_largest(Sheet& sheet) {
  remove_components(std::span(sheet.voxels), sheet.extent, {.keep_largest = true});
}

Sheet mirrored(const Sheet& sheet) {
  Sheet made = sheet;
  const auto row = static_cast<std::ptrdiff_t>(sheet.extent[2]);
  for (auto begin = made.voxels.begin(); begin != made.voxels.end(); begin += row)
    std::reverse(begin, begin + row);
  return made;
}

Sheet stacked(const std::vector<Sheet>& parts) {
  Sheet made = parts.at(0);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].extent[1] != made.extent[1] || parts[i].extent[2] != made.extent[2])
      throw DataError("[surface] parts of a half must have the same sides along y and x");
    made.extent[0] += parts[i].extent[0];
    made.voxels.insert(made.voxels.end(), parts[i].voxels.begin(), parts[i].voxels.end());
  }
  return made;
}

Agreement agreement(const Sheet& predicted, const Sheet& truth, double tolerance) {
  const models::MaskPair pair(predicted.voxels, truth.voxels, truth.extent);
  const std::vector<Offset> offsets = ball(tolerance);
  const auto voxels = std::ranges::count_if(predicted.voxels, [](auto v) { return v != 0; }) +
                      std::ranges::count_if(truth.voxels, [](auto v) { return v != 0; });
  const std::int64_t near =
      count_near(predicted, truth, offsets) + count_near(truth, predicted, offsets);
  const std::array tolerances{tolerance};
  return {.voxels = voxels == 0 ? 1.0 : static_cast<double>(near) / static_cast<double>(voxels),
          .areas = models::surface_dice(pair, tolerances).at.front().dice};
}

}  // namespace headrace::inline v1::bench
