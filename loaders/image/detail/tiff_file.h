#pragma once

#include <headrace/loaders/image/image_header.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

struct tiff;

namespace headrace::inline v1::detail {

/// How the first page of a TIFF file keeps its samples, checked against ImageLimits.
struct TiffLayout {
  int width = 0;
  int height = 0;
  int bits = 0;     ///< of a sample: 1, 2, 4, 8 or 16
  int samples = 0;  ///< of a pixel
  int photometric = 0;
  int orientation = 1;
  bool planes = false;  ///< each sample in blocks of its own
  bool tiled = false;
  bool lossy = false;
  int block_width = 0;  ///< of a strip or tile, in pixels
  int block_height = 0;
  std::size_t block_bytes = 0;
};

/// A TIFF file in memory. Errors of libtiff become DataErrors; nothing of the process is changed.
class TiffFile {
 public:
  TiffFile() = default;
  ~TiffFile() { close(); }
  TiffFile(const TiffFile&) = delete;
  TiffFile& operator=(const TiffFile&) = delete;

  /// Reads and checks the first directory; others must be copies or masks of it.
  TiffLayout open(std::span<const std::byte> file);
  void close() noexcept;
  bool is_open() const noexcept { return handle_ != nullptr; }

  /// The block that holds pixel (x, y) of a sample's plane, decoded: block_bytes of memory, of
  /// which rows beyond the picture stay zero.
  void read_block(const TiffLayout& layout, int x, int y, int sample, std::uint8_t* out);
  /// Three tables of 2^bits values of 16 bits, red, green and blue.
  void palette(const std::uint16_t* tables[3]);

  /// For libtiff's callbacks.
  std::uint64_t size() const noexcept { return bytes.size(); }
  std::span<const std::byte> bytes;
  std::uint64_t place = 0;
  std::string message;

 private:
  [[noreturn]] void fail(const std::string& reason);
  template <class T>
  T tag(unsigned number, T otherwise) const;
  TiffLayout read_layout();
  void check_blocks(const TiffLayout& layout);
  void check_kind(const TiffLayout& layout);
  void check_bands(const TiffLayout& layout, int needed);
  void check_pages();
  void check_planes(const TiffLayout& layout);

  ::tiff* handle_ = nullptr;
};

}  // namespace headrace::inline v1::detail
