#pragma once

#include <headrace/loaders/volume/volume.h>
#include <headrace/loaders/volume/volume_reader.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// The values of a file's first channel, slice by slice from the first on: no block is decoded
/// twice. One thread.
class VolumeSlices {
 public:
  /// Reads the header. Throws what open_volume() throws.
  explicit VolumeSlices(const std::filesystem::path& file);

  const std::string& name() const noexcept { return name_; }
  const VolumeIndex& shape() const { return volume_->info().shape; }
  /// Of slice `z`, (y, x), until the next call.
  std::span<const float> read(std::int64_t z);

 private:
  std::string name_;
  std::shared_ptr<const CachedVolume> volume_;
  std::vector<std::byte> stored_;
  std::vector<float> values_;
};

/// Whether it is one channel of nothing but 0; reads no further than to the first other slice.
bool is_zero_everywhere(const std::filesystem::path& file);

}  // namespace headrace::inline v1::app
