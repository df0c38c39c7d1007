#pragma once

#include <headrace/engine/device/internal/kernel.h>

#include <cstddef>
#include <cstdint>

namespace headrace::inline v1::detail {

struct Voxels;

/// What NnUNetIntensity does to one channel of one image, ready for a kernel: a function of what
/// was drawn and of the image's shape. All zeros: nothing.
struct IntensityPlan {
  enum Part : std::uint32_t {
    noise = 1,
    blur = 2,
    brightness = 4,
    contrast = 8,
    low_resolution = 16,
    gamma = 32,         ///< the first; the second is the next bit
    keeps_range = 128,  ///< of the contrast
    inverts = 256,      ///< the first gamma; the second is the next bit
    retains = 1024,     ///< the first gamma; the second is the next bit
  };
  static constexpr int most_reach = 63;

  std::uint32_t parts;
  float noise_deviation;
  std::uint32_t noise_key[2];
  float brightness_factor;
  float contrast_factor;
  float exponents[2];
  std::int32_t small[3];  ///< of the low resolution, z, y, x
  std::int32_t reach[3];  ///< of the blur, as BlurAxis has it
  float weights[3][most_reach + 1];
};

/// As VoxelStatistics.
struct MeasuredVoxels {
  float mean;
  float deviation;
  float least;
  float most;
};

/// Of the 1024 values of a block; value i belongs to number i mod 32.
struct BlockSums {
  double sums[32];
  double squares[32];
  float least[32];
  float most[32];
};

/// A channel is passed over in these stages, each a pass over all rows of the batch. Before
/// `blurred` comes the blur, before `resampled` the low resolution; both leave their values in the
/// scratch.
enum class IntensityStage : std::int32_t {
  noise,         ///< of rows that are blurred
  blurred,       ///< other noise, brightness; measured for the contrast
  contrast,      ///< of rows of low resolution
  resampled,     ///< other contrast; measured for the first gamma of the row
  raised,        ///< power of the first gamma; measured to keep mean and deviation
  settled,       ///< the rest of the first gamma; measured for the second
  raised_again,  ///< power of the second
  settled_again,
};

/// Rows of one image channel each, changed in place. All memory is the device's.
struct IntensityTask {
  /// Statistics that a row may need, each in a place of its own.
  static constexpr int measures = 5;

  float* image = nullptr;
  float* scratch = nullptr;  ///< as large as the image
  const IntensityPlan* plans = nullptr;
  MeasuredVoxels* measured = nullptr;  ///< `measures` a row
  BlockSums* sums = nullptr;           ///< for each whole block of 1024 values of each row
  std::int64_t rows = 0;
  std::int32_t channels = 1;    ///< of an image: row r has channel r mod channels
  std::int32_t extent[3] = {};  ///< z, y, x
  std::uint32_t parts = 0;      ///< IntensityPlan::Part, of which no row has another
  IntensityStage stage{};       ///< of a pass
  std::int32_t axis = 0;        ///< of a blur

  std::int64_t count() const { return std::int64_t{extent[0]} * extent[1] * extent[2]; }
};

/// Each takes an IntensityTask. Rows without a part of theirs are not touched.
inline constexpr Kernel intensity_pass_kernel{.who = "nnunet intensity",
                                              .function = "headrace_intensity_pass"};
inline constexpr Kernel volume_blur_kernel{.who = "nnunet intensity",
                                           .function = "headrace_volume_blur"};
inline constexpr Kernel low_resolution_kernel{.who = "nnunet intensity",
                                              .function = "headrace_low_resolution"};

/// Bytes beside the image that so many rows of so many voxels take: scratch, sums and statistics.
std::size_t intensity_memory(std::int64_t rows, std::int64_t voxels);
/// Sets the task's memory to `intensity_memory` bytes from `memory` on, 256 bytes aligned.
void set_memory(IntensityTask& task, std::byte* memory);
/// Queues all of the plans on the stream; nothing is waited for.
void intensity_on_device(IntensityTask task, Device device, Stream stream);
/// One row in host memory, on the calling thread.
void intensity_on_host(const IntensityPlan& plan, const Voxels& shape, std::int64_t channel,
                       float* data);

}  // namespace headrace::inline v1::detail
