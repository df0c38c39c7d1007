#pragma once

#include <cstddef>

/// The part of nvJPEG 13's C interface that we call, so that no build needs its header. Where the
/// header is there, tests/nvjpeg/abi_test.cpp compares.
namespace headrace::inline v1::detail::nvjpeg {

enum class Status : int { success = 0, allocator_failure = 5 };  // of eleven
enum class Backend : int { automatic = 0, gpu = 2, hardware = 3 };
enum class Property : int { major = 0, minor = 1, patch = 2 };
enum class OutputFormat : int { interleaved_rgb = 5 };

/// Bits of the flags of nvjpegCreateEx.
constexpr unsigned no_pipeline = 1U << 0;       ///< decode what was given, buffer no next image
constexpr unsigned strict_bitstream = 1U << 2;  ///< what breaks the standard is an error
constexpr unsigned interpolated_upsampling = 1U << 5;  ///< of chroma, as libjpeg does

struct Image {
  unsigned char* channel[4];
  std::size_t pitch[4];  ///< bytes from one row to the next
};

using Handle = void*;
using State = void*;
using JpegStream = void*;
using CudaStream = void*;

/// nvjpegCreateEx and so on.
struct Functions {
  Status (*get_property)(Property, int*) = nullptr;
  Status (*create)(Backend, void* device_allocator, void* pinned_allocator, unsigned flags,
                   Handle*) = nullptr;
  Status (*destroy)(Handle) = nullptr;
  Status (*create_state)(Handle, State*) = nullptr;
  Status (*destroy_state)(State) = nullptr;
  Status (*create_stream)(Handle, JpegStream*) = nullptr;
  Status (*destroy_stream)(JpegStream) = nullptr;
  Status (*parse_header)(Handle, const unsigned char* data, std::size_t length,
                         JpegStream) = nullptr;
  /// `*supported` is 0 where the image can be decoded.
  Status (*batched_supported)(Handle, JpegStream, int* supported) = nullptr;
  Status (*initialize_batched)(Handle, State, int batch_size, int cpu_threads,
                               OutputFormat) = nullptr;
  Status (*decode_batched)(Handle, State, const unsigned char* const* data,
                           const std::size_t* lengths, Image* to, CudaStream) = nullptr;
};

}  // namespace headrace::inline v1::detail::nvjpeg
