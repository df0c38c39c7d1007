#pragma once

#include <headrace/engine/tensor/half_floats.h>
#include <headrace/loaders/volume/volume.h>
#include <headrace/tests/loaders/volume/volume_packs.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {

/// An array that another program wrote: see write_stores.py.
struct StoredVolume {
  std::string path;
  std::string dtype;
  VolumeIndex shape{}, block{};
  std::array<std::int64_t, 3> hole_begin{}, hole_end{};  ///< of the fill value

  bool in_hole(std::int64_t z, std::int64_t y, std::int64_t x) const {
    return z >= hole_begin[0] && z < hole_end[0] && y >= hole_begin[1] && y < hole_end[1] &&
           x >= hole_begin[2] && x < hole_end[2];
  }
};

/// Whether this build decodes Blosc chunks.
#ifdef HEADRACE_TEST_BLOSC2
inline constexpr bool has_blosc = true;
#else
inline constexpr bool has_blosc = false;
#endif

/// Writes the files of data_stores/<name>.pack.gz into `folder`; what arrays they are.
inline std::vector<StoredVolume> unpack_stores(const std::string& name,
                                               const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  for (const PackedFile& file : packed_files(name)) {
    fs::create_directories((folder / file.name).parent_path());
    std::ofstream(folder / file.name, std::ios::binary) << file.content;
  }
  std::ifstream lines(folder / "cases.txt");
  std::vector<StoredVolume> volumes;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    StoredVolume volume;
    words >> volume.path >> volume.dtype;
    for (auto* index : {&volume.shape, &volume.block})
      for (std::int64_t& extent : *index)
        words >> extent;
    for (auto* corner : {&volume.hole_begin, &volume.hole_end})
      for (std::int64_t& place : *corner)
        words >> place;
    if (!words) throw std::runtime_error("cases.txt: " + line);
    volumes.push_back(volume);
  }
  if (volumes.empty()) throw std::runtime_error("no arrays in " + name);
  return volumes;
}

template <class T>
double value_of(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  if constexpr (std::is_class_v<T>)
    return to_float(value);
  else
    return static_cast<double>(value);
}

inline double number_at(const std::byte* at, DType dtype) {
  switch (dtype) {
    case DType::uint8:
      return value_of<std::uint8_t>(at);
    case DType::int8:
      return value_of<std::int8_t>(at);
    case DType::uint16:
      return value_of<std::uint16_t>(at);
    case DType::int16:
      return value_of<std::int16_t>(at);
    case DType::uint32:
      return value_of<std::uint32_t>(at);
    case DType::int32:
      return value_of<std::int32_t>(at);
    case DType::uint64:
      return value_of<std::uint64_t>(at);
    case DType::int64:
      return value_of<std::int64_t>(at);
    case DType::float16:
      return value_of<float16_t>(at);
    case DType::bfloat16:
      return value_of<bfloat16_t>(at);
    case DType::float32:
      return value_of<float>(at);
    case DType::float64:
      return value_of<double>(at);
    case DType::boolean:
      break;
  }
  throw std::runtime_error("no type of a voxel");
}

/// A volume, all of its blocks read.
class WholeVolume {
 public:
  explicit WholeVolume(const Volume& volume) : info_(volume.info()) {
    values_.resize(static_cast<std::size_t>(voxels_of(info_.shape)));
    std::vector<std::byte> block(info_.block_bytes());
    const VolumeIndex grid = info_.grid();
    for (std::int64_t i = 0; i < voxels_of(grid); ++i) {
      const VolumeIndex place = place_of(i, grid);
      read_ += volume.read_block(place, block);
      keep(block, place);
    }
  }

  double at(std::int64_t c, std::int64_t z, std::int64_t y, std::int64_t x) const {
    return values_[number_of({c, z, y, x}, info_.shape)];
  }
  std::uint64_t bytes_read() const { return read_; }

 private:
  static VolumeIndex place_of(std::int64_t number, const VolumeIndex& shape) {
    VolumeIndex place{};
    for (std::size_t axis = 4; axis-- > 0; number /= shape[axis])
      place[axis] = number % shape[axis];
    return place;
  }
  static std::size_t number_of(const VolumeIndex& place, const VolumeIndex& shape) {
    return static_cast<std::size_t>(
        ((place[0] * shape[1] + place[1]) * shape[2] + place[2]) * shape[3] + place[3]);
  }
  void keep(const std::vector<std::byte>& block, const VolumeIndex& at) {
    for (std::int64_t i = 0; i < voxels_of(info_.block); ++i) {
      VolumeIndex voxel = place_of(i, info_.block);
      bool inside = true;
      for (std::size_t axis = 0; axis < 4; ++axis) {
        voxel[axis] += at[axis] * info_.block[axis];
        inside = inside && voxel[axis] < info_.shape[axis];
      }
      if (!inside) continue;
      values_[number_of(voxel, info_.shape)] =
          number_at(block.data() + static_cast<std::size_t>(i) * size_of(info_.dtype), info_.dtype);
    }
  }

  VolumeInfo info_;
  std::vector<double> values_;
  std::uint64_t read_ = 0;
};

/// What write_stores.py made of a voxel.
inline double value_at(std::int64_t c, std::int64_t z, std::int64_t y, std::int64_t x) {
  return static_cast<double>((x + 3 * y + 11 * z + 50 * c) % 97 +
                             ((x * y + z) % 13 == 0 ? 100 : 0));
}

/// As the type that it was written in shows a value.
inline double stored_value(double value, const std::string& dtype, const std::string& path) {
  if (path.find("b1") != std::string::npos || path.find("bool") != std::string::npos)
    return std::fmod(value, 2) == 0 ? 1 : 0;
  if (dtype == "int8") return static_cast<std::int8_t>(static_cast<std::uint8_t>(value));
  return value;
}

/// Checks shape, type and all values; a voxel in the hole must be `fill`, which may be no number.
inline void check_volume_values(const Volume& volume, const StoredVolume& stored, double fill) {
  CHECK(std::string(name_of(volume.info().dtype)) == stored.dtype);
  REQUIRE(volume.info().shape == stored.shape);
  CHECK(volume.info().block == stored.block);
  const WholeVolume whole(volume);
  std::int64_t wrong = 0;
  for (std::int64_t c = 0; c < stored.shape[0]; ++c) {
    for (std::int64_t z = 0; z < stored.shape[1]; ++z) {
      for (std::int64_t y = 0; y < stored.shape[2]; ++y) {
        for (std::int64_t x = 0; x < stored.shape[3]; ++x) {
          const double expected = stored.in_hole(z, y, x) ? fill
                                                          : stored_value(value_at(c, z, y, x),
                                                                         stored.dtype, stored.path);
          const double got = whole.at(c, z, y, x);
          wrong += std::isnan(expected) ? !std::isnan(got) : got != expected;
        }
      }
    }
  }
  CHECK(wrong == 0);
}

}  // namespace headrace::test
