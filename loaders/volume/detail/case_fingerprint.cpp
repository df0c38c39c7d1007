#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/volume/block_cache.h>
#include <headrace/loaders/volume/detail/case_fingerprint.h>
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/loaders/volume/volume_reader.h>
#include <headrace/loaders/volume/volume_values.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

constexpr std::size_t image_box_axes = 3;
constexpr double flat_spacing = 999;  // of an image of one slice, by its coarser axis

[[noreturn]] void refuse(const NnUNetCase& of, const std::string& rule) {
  throw DataError("[nnU-Net fingerprint] case " + detail::quoted(of.name) + ": " + rule);
}

std::string text_of(const VolumeIndex& shape) {
  return std::to_string(shape[1]) + "x" + std::to_string(shape[2]) + "x" + std::to_string(shape[3]);
}

std::string text_of(const std::array<double, 3>& spacing) {
  std::string text;
  for (const double length : spacing) {
    std::array<char, 32> digits{};
    std::snprintf(digits.data(), digits.size(), "%.6g", length);
    text += (text.empty() ? "" : " x ") + std::string(digits.data());
  }
  return text;
}

/// As numpy.allclose().
template <std::size_t count>
bool same(const std::array<double, count>& a, const std::array<double, count>& b) {
  for (std::size_t i = 0; i < count; ++i)
    if (std::abs(a[i] - b[i]) > 1e-8 + 1e-5 * std::abs(b[i])) return false;
  return true;
}

/// Whether a voxel is stored as 8 or 16 bits, whose values a table holds.
bool has_table(DType dtype) {
  return size_of(dtype) <= 2;
}

std::size_t code_at(const std::vector<std::byte>& stored, std::size_t voxel, DType dtype) {
  if (size_of(dtype) == 1) return static_cast<std::size_t>(stored[voxel]);
  std::uint16_t code = 0;
  std::memcpy(&code, stored.data() + 2 * voxel, sizeof code);
  return code;
}

std::vector<float> table_of(const VolumeInfo& info) {
  if (!has_table(info.dtype)) return {};
  const std::size_t bytes = size_of(info.dtype);
  std::vector<std::byte> stored;
  for (std::size_t code = 0; code < std::size_t{1} << (8 * bytes); ++code) {
    const auto narrow = static_cast<std::uint16_t>(code);
    std::array<std::byte, 2> both{};
    std::memcpy(both.data(), &narrow, sizeof narrow);
    stored.insert(stored.end(), both.begin(), both.begin() + static_cast<std::ptrdiff_t>(bytes));
  }
  std::vector<float> values(stored.size() / bytes);
  to_float(info, stored, values.data());
  return values;
}

/// A slice of a file.
struct Slice {
  std::vector<std::byte> stored{};
  std::vector<float> values{};
};

/// Grows around what is added.
struct Box {
  std::array<std::int64_t, image_box_axes> begin{};
  std::array<std::int64_t, image_box_axes> end{};  // 0: nothing was added

  void add(std::int64_t z, std::int64_t y, std::int64_t x) noexcept {
    const std::array<std::int64_t, image_box_axes> at{z, y, x};
    const bool first = end[0] == 0;
    for (std::size_t axis = 0; axis < image_box_axes; ++axis) {
      begin[axis] = first ? at[axis] : std::min(begin[axis], at[axis]);
      end[axis] = std::max(end[axis], at[axis] + 1);
    }
  }
};

/// Reads a case's files beside each other.
class CaseReader {
 public:
  CaseReader(const NnUNetCase& of, const std::vector<std::shared_ptr<const Volume>>& files,
             std::size_t cache_bytes, std::size_t values)
      : case_(of), slices_(files.size()), has_value_(values) {
    const auto cache = std::make_shared<BlockCache>(cache_bytes);
    for (const auto& file : files)
      files_.push_back(std::make_unique<CachedVolume>(file, cache));
    const VolumeIndex& shape = files.front()->info().shape;
    rows_ = shape[2];
    columns_ = shape[3];
  }

  void read(std::int64_t z) {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const VolumeInfo& info = files_[i]->info();
      Slice& slice = slices_[i];
      const VolumeBox box{{0, z, 0, 0}, {1, z + 1, rows_, columns_}};
      slice.values.resize(static_cast<std::size_t>(rows_ * columns_));
      slice.stored.resize(slice.values.size() * size_of(info.dtype));
      files_[i]->read_box(box,
                          BoxMemory::dense(slice.stored.data(), box.shape(), size_of(info.dtype)));
      to_float(info, slice.stored, slice.values.data());
    }
    check_values();
    check_label();
  }

  std::size_t channels() const { return files_.size() - 1; }
  DType dtype(std::size_t channel) const { return files_[channel]->info().dtype; }
  const Slice& slice(std::size_t channel) const { return slices_[channel]; }
  bool foreground(std::size_t voxel) const { return slices_.back().values[voxel] > 0; }
  bool zero(std::size_t voxel) const {
    for (std::size_t channel = 0; channel < channels(); ++channel)
      if (slices_[channel].values[voxel] != 0) return false;
    return true;
  }
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  const std::vector<bool>& has_value() const { return has_value_; }

 private:
  void check_values() const {
    for (std::size_t channel = 0; channel < channels(); ++channel) {
      if (!std::ranges::all_of(slices_[channel].values, [](float v) { return std::isfinite(v); })) {
        refuse(case_, printable(files_[channel]->volume().name()) +
                          ": voxels must be numbers, got NaN or infinity; replace them by what "
                          "stands for nothing in these images");
      }
    }
  }

  void check_label() {
    float last = -1;  // most voxels are as the one before
    for (const float value : slices_.back().values) {
      if (value == last) continue;
      const bool known =
          value >= 0 && value < static_cast<float>(has_value_.size()) && value == std::floor(value);
      if (!known) {
        refuse(case_, printable(files_.back()->volume().name()) +
                          ": a label must have the values of dataset.json's \"labels\", 0 to " +
                          std::to_string(has_value_.size() - 1) + ", got " + std::to_string(value) +
                          "; name it there, or correct the label");
      }
      has_value_[static_cast<std::size_t>(value)] = true;
      last = value;
    }
  }

  const NnUNetCase& case_;
  std::vector<std::unique_ptr<CachedVolume>> files_;
  std::vector<Slice> slices_;
  std::vector<bool> has_value_;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
};

/// Foreground where all channels are 0 counts only inside the box, which is known at the end.
std::int64_t zeros_inside(CaseReader& reader, const Box& box) {
  std::int64_t count = 0;
  for (std::int64_t z = box.begin[0]; z < box.end[0]; ++z) {
    reader.read(z);
    for (std::int64_t y = box.begin[1]; y < box.end[1]; ++y)
      for (std::int64_t x = box.begin[2]; x < box.end[2]; ++x) {
        const auto voxel = static_cast<std::size_t>(y * reader.columns() + x);
        if (reader.foreground(voxel) && reader.zero(voxel)) ++count;
      }
  }
  return count;
}

}  // namespace

OpenCase::OpenCase(const NnUNetCase& of) : case_(of) {
  std::vector<std::filesystem::path> paths = of.images;
  paths.push_back(of.label);
  for (const std::filesystem::path& path : paths) {
    files_.push_back(open_volume(path));
    const VolumeInfo& first = files_.front()->info();
    const VolumeInfo& info = files_.back()->info();
    const std::string file = printable(files_.back()->name());
    if (info.shape[0] != 1) {
      refuse(of, file + ": a file must hold one channel, got " + std::to_string(info.shape[0]) +
                     "; write each into a file of its own (_0000, _0001, ...)");
    }
    const std::string other = " as " + printable(files_.front()->name());
    if (info.shape != first.shape) {
      refuse(of, file + ": must have the same shape" + other + ", " + text_of(first.shape) +
                     ", got " + text_of(info.shape) + "; resample one onto the other");
    }
    if (!same(info.spacing, first.spacing)) {
      refuse(of, file + ": must have the same spacing" + other + ", " + text_of(first.spacing) +
                     " mm, got " + text_of(info.spacing) +
                     " mm; correct its header, or resample it");
    }
  }
}

/// Of the blocks that a slice lies in, and of the next, so that none is decoded twice.
std::size_t OpenCase::cache_bytes() const {
  std::size_t bytes = 0;
  for (const auto& file : files_) {
    const VolumeIndex grid = file->info().grid();
    const std::int64_t blocks = std::min<std::int64_t>(grid[1], 2) * grid[2] * grid[3];
    bytes += static_cast<std::size_t>(blocks) * file->info().block_bytes();
  }
  return bytes;
}

std::size_t OpenCase::bytes() const {
  std::size_t bytes = cache_bytes();
  for (const auto& file : files_) {
    const VolumeInfo& info = file->info();
    bytes += static_cast<std::size_t>(info.shape[2] * info.shape[3]) *
             (size_of(info.dtype) + sizeof(float));
    bytes += file->working_bytes() + file->resident_bytes();
  }
  return bytes;
}

CaseFingerprint OpenCase::look(std::size_t values, std::size_t most, std::uint64_t seed) const {
  CaseReader reader(case_, files_, cache_bytes(), values);
  std::vector<ForegroundValues> found;
  for (std::size_t channel = 0; channel < reader.channels(); ++channel)
    found.emplace_back(most, table_of(files_[channel]->info()), seed + channel);
  const VolumeInfo& info = files_.front()->info();
  Box box;
  std::int64_t zeros = 0;
  for (std::int64_t z = 0; z < info.shape[1]; ++z) {
    reader.read(z);
    std::size_t voxel = 0;
    for (std::int64_t y = 0; y < info.shape[2]; ++y) {
      for (std::int64_t x = 0; x < info.shape[3]; ++x, ++voxel) {
        const bool zero = reader.zero(voxel);
        if (!zero) box.add(z, y, x);
        if (!reader.foreground(voxel)) continue;
        if (zero) {
          ++zeros;
          continue;
        }
        for (std::size_t channel = 0; channel < found.size(); ++channel) {
          if (found[channel].coded()) {
            found[channel].add_code(
                code_at(reader.slice(channel).stored, voxel, reader.dtype(channel)));
          } else {
            found[channel].add(reader.slice(channel).values[voxel]);
          }
        }
      }
    }
  }
  if (box.end[0] == 0) box.end = {info.shape[1], info.shape[2], info.shape[3]};
  if (zeros > 0) zeros = zeros_inside(reader, box);
  CaseFingerprint made{.spacing = info.spacing,
                       .has_value = reader.has_value(),
                       .placed_together = same(files_.back()->info().affine, info.affine)};
  for (ForegroundValues& channel : found) {
    for (std::int64_t i = 0; i < zeros; ++i)
      channel.add(0.0F);
    made.channels.push_back(channel.figures());
  }
  double all = 1;
  double inside = 1;
  for (std::size_t axis = 0; axis < image_box_axes; ++axis) {
    made.shape[axis] = box.end[axis] - box.begin[axis];
    inside *= static_cast<double>(made.shape[axis]);
    all *= static_cast<double>(info.shape[axis + 1]);
  }
  made.relative_size = inside / all;
  if (info.shape[1] == 1)
    made.spacing[0] = flat_spacing * std::max(info.spacing[1], info.spacing[2]);
  return made;
}

}  // namespace headrace::inline v1::detail
