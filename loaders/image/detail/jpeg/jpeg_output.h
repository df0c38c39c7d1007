#pragma once

// jpeglib.h needs FILE and size_t before it.
#include <cstddef>
#include <cstdio>
#include <span>

#include <jpeglib.h>

namespace headrace::inline v1::detail {

/// Memory that a JPEG is written to. The library's own kind keeps what it grew to itself until it
/// is done: whoever frees the memory after an error frees another one.
class JpegOutput {
 public:
  JpegOutput() = default;
  ~JpegOutput();
  JpegOutput(const JpegOutput&) = delete;
  JpegOutput& operator=(const JpegOutput&) = delete;

  /// Has the next image written here, over what there is. Fails as the library does, with
  /// JERR_OUT_OF_MEMORY, where memory runs out.
  void attach(jpeg_compress_struct& info) noexcept;
  /// What was written last.
  std::span<const std::byte> bytes() const noexcept;

 private:
  static JpegOutput& of(j_compress_ptr info) noexcept;
  static void begin(j_compress_ptr info);
  static boolean grow(j_compress_ptr info);
  static void end(j_compress_ptr info);
  void take(j_compress_ptr info, std::size_t room);

  jpeg_destination_mgr base_{};
  unsigned char* memory_ = nullptr;
  std::size_t room_ = 0;
  std::size_t size_ = 0;
};

}  // namespace headrace::inline v1::detail
