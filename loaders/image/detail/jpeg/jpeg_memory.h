#pragma once

#include <headrace/loaders/image/detail/jpeg/jpeg_error.h>

#include <cstddef>

namespace headrace::inline v1::detail {

/// The memory of one libjpeg-turbo decoder. The library asks malloc anew for every image; here
/// everything taken after attach() is a piece of a block that stays from image to image, holds
/// zeroes when it is handed out, ends with the image, and counts towards a limit. Tables of an
/// image end with it too, so none decodes by the tables of the one before.
class JpegMemory {
 public:
  /// Most that one image may take; more is an error of the image.
  static constexpr std::size_t limit = std::size_t{1} << 30;
  /// What an image took beyond this is given back after it.
  static constexpr std::size_t kept = std::size_t{32} << 20;

  JpegMemory() = default;
  ~JpegMemory();
  JpegMemory(const JpegMemory&) = delete;
  JpegMemory& operator=(const JpegMemory&) = delete;

  /// Takes the place of the library's own manager in a decoder that was just created; must outlive
  /// it, and owns its `client_data`.
  void attach(jpeg_decompress_struct& info);
  /// `bytes` zeroed bytes, 64-byte aligned, with 64 more behind them; null beyond the limit.
  void* take(std::size_t bytes) noexcept;
  /// Whether the last take() failed because the system has no more.
  bool starved() const noexcept { return starved_; }
  /// All that was taken ends.
  void reset() noexcept;
  /// Bytes held at the moment.
  std::size_t bytes() const noexcept { return held_; }

 private:
  struct Block;

  void release() noexcept;

  Block* blocks_ = nullptr;  ///< the one in use first
  std::size_t held_ = 0;
  bool starved_ = false;
  std::size_t next_size_ = std::size_t{256} << 10;
};

}  // namespace headrace::inline v1::detail
