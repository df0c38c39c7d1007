#pragma once

#include <headrace/engine/device/internal/kernel.h>
#include <headrace/engine/tensor/dtype.h>

#include <algorithm>
#include <cstdint>

#ifdef __CUDACC__
#define HEADRACE_ON_BOTH __host__ __device__
#else
#define HEADRACE_ON_BOTH
#endif

namespace headrace::inline v1::detail {

inline constexpr int most_spec_masks = 32;    ///< on each axis
inline constexpr int most_filled_bins = 512;  ///< with a fill of their own, on a device
inline constexpr std::int64_t most_spec_cells = 1LL << 30;  ///< of an axis

/// Planes one after another and what is done to them. `from` and `to` are equal where a batch is
/// masked in place, which a warp does not allow.
struct SpecTask {
  const void* from = nullptr;
  void* to = nullptr;
  DType dtype = DType::float32;
  bool frequency_first = true;
  std::int64_t planes = 0;
  std::int64_t bins = 0;
  std::int64_t frames = 0;
  const std::int32_t* masks = nullptr;  ///< rows of SpecMasks
  std::int64_t mask_values = 0;         ///< of a row
  std::int64_t planes_per_row = 1;      ///< that share a row of masks
  int frequency_masks = 0;
  int time_masks = 0;
  bool warps = false;
  const float* fill = nullptr;  ///< in host memory
  bool fill_per_bin = false;
};

/// Where a frame of a warped plane comes from: between frame `first` and the next.
struct WarpTap {
  std::int32_t first = 0;
  float share = 0.0F;  ///< of the next
};

/// The piecewise linear map that takes frame `moved` from `point` and keeps the ends of [0,
/// frames).
HEADRACE_ON_BOTH inline WarpTap warp_tap(std::int64_t point, std::int64_t moved,
                                         std::int64_t frames, std::int64_t frame) {
  const bool left = frame <= moved;
  const std::int64_t from = left ? 0 : point;
  const std::int64_t steps = left ? frame : frame - moved;
  const std::int64_t rise = left ? point : frames - 1 - point;
  const std::int64_t run = left ? moved : frames - 1 - moved;
  const std::int64_t whole = steps * rise / run;
  const std::int64_t rest = steps * rise - whole * run;
  return {static_cast<std::int32_t>(from + whole),
          static_cast<float>(rest) / static_cast<float>(run)};
}

/// In host memory, on the calling thread.
void spec_augment_on_host(const SpecTask& task);

/// Takes a SpecTask in memory of the device, masks too; its fill in host memory, of at most
/// most_filled_bins bins.
inline constexpr Kernel spec_augment_kernel{.who = "spec augment",
                                            .function = "headrace_spec_augment"};

}  // namespace headrace::inline v1::detail
