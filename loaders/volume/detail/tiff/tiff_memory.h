#pragma once

#include <headrace/engine/tensor/dtype.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

struct tiff;

namespace headrace::inline v1::detail {

/// What all pages of a TIFF file in the making have.
struct TiffPageFormat {
  std::uint32_t width = 0, height = 0;
  DType dtype = DType::uint8;
  std::string description;                        ///< of the first page
  double resolution_x = 1.0, resolution_y = 1.0;  ///< pixels per unit
};

/// A TIFF file in the making, in memory, page by page. Throws ResourceError where libtiff fails.
class TiffMemory {
 public:
  /// `large`: BigTIFF.
  explicit TiffMemory(bool large);
  ~TiffMemory();
  TiffMemory(const TiffMemory&) = delete;
  TiffMemory& operator=(const TiffMemory&) = delete;

  /// Adds a page of the voxels given, row by row.
  void add(const TiffPageFormat& format, std::span<const std::byte> voxels);
  /// The whole file; nothing can be added afterwards.
  std::span<const std::byte> finish();

  /// For libtiff's callbacks.
  std::uint64_t size() const noexcept { return bytes.size(); }
  std::vector<std::byte> bytes;
  std::uint64_t place = 0;
  std::string message;

 private:
  [[noreturn]] void fail() const;

  ::tiff* handle_ = nullptr;
  bool first_ = true;
};

}  // namespace headrace::inline v1::detail
