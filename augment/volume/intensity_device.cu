#include <headrace/augment/volume/detail/device_voxel_math.h>
#include <headrace/augment/volume/detail/intensity_task.h>
#include <headrace/engine/base/export.h>
#include <headrace/engine/device/internal/launch.h>

#include <algorithm>

namespace headrace::inline v1::detail {
namespace {

using Part = IntensityPlan::Part;
using Stage = IntensityStage;

constexpr unsigned warps = 8;
constexpr unsigned lanes = 32;
constexpr int block_values = 1024;
constexpr int held = block_values / lanes;  // values of a lane
constexpr float epsilon = 1e-7F;            // batchgeneratorsv2's least divisor

/// What a pass does to a row, in the order of these members; nothing of it where they are false.
struct Steps {
  bool from_scratch = false;  ///< that is where the values are
  bool noise = false;
  bool scale = false;
  bool negate = false;
  bool power = false;
  bool affine = false;
  bool clamp = false;
  bool negate_again = false;
  int measure = -1;  ///< where the result's statistics go
  float power_from = 0.0F;
  float range = 0.0F;
  float exponent = 1.0F;
  float from = 0.0F;
  float factor = 1.0F;
  float to = 0.0F;
  float least = 0.0F;
  float most = 0.0F;

  __device__ bool changes() const {
    return from_scratch || noise || scale || negate || power || affine || clamp || negate_again;
  }
};

__device__ MeasuredVoxels negated(const MeasuredVoxels& of) {
  return {-of.mean, of.deviation, -of.most, -of.least};
}

struct Row {
  const IntensityPlan& plan;
  const MeasuredVoxels* measured;
  std::uint32_t parts;

  __device__ bool has(std::uint32_t part) const { return (parts & part) != 0; }
};

__device__ void add_contrast(const Row& row, Steps& steps) {
  const MeasuredVoxels before = row.measured[0];
  steps.affine = true;
  steps.from = before.mean;
  steps.to = before.mean;
  steps.factor = row.plan.contrast_factor;
  steps.clamp = row.has(Part::keeps_range);
  steps.least = before.least;
  steps.most = before.most;
}

/// Statistics before gamma 0 or 1, as that sees the values.
__device__ MeasuredVoxels before_gamma(const Row& row, unsigned number) {
  const MeasuredVoxels before = row.measured[number == 1 && row.has(Part::gamma) ? 3 : 1];
  return row.has(Part::inverts << number) ? negated(before) : before;
}

__device__ void add_power(const Row& row, unsigned number, Steps& steps) {
  if (!row.has(Part::gamma << number)) return;
  const MeasuredVoxels before = before_gamma(row, number);
  steps.negate = row.has(Part::inverts << number);
  steps.power = true;
  steps.power_from = before.least;
  steps.range = __fsub_rn(before.most, before.least);
  steps.exponent = row.plan.exponents[number];
  if (row.has(Part::retains << number)) steps.measure = number == 0 ? 2 : 4;
}

__device__ void add_rest(const Row& row, unsigned number, Steps& steps) {
  if (!row.has(Part::gamma << number)) return;
  steps.negate_again = row.has(Part::inverts << number);
  if (!row.has(Part::retains << number)) return;
  const MeasuredVoxels before = before_gamma(row, number);
  const MeasuredVoxels after = row.measured[number == 0 ? 2 : 4];
  steps.affine = true;
  steps.from = after.mean;
  steps.to = before.mean;
  steps.factor = __fdiv_rn(before.deviation, larger(after.deviation, epsilon));
}

__device__ Steps steps_of(const IntensityTask& task, std::int64_t number) {
  const IntensityPlan& plan = task.plans[number];
  const Row row{plan, task.measured + number * IntensityTask::measures,
                plan.parts & (task.parts | ~(Part::keeps_range - 1U))};
  const bool low = row.has(Part::low_resolution);
  constexpr std::uint32_t second = Part::gamma << 1;
  Steps steps;
  switch (task.stage) {
    case Stage::noise:
      steps.noise = row.has(Part::noise) && row.has(Part::blur);
      break;
    case Stage::blurred:
      steps.from_scratch = row.has(Part::blur);
      steps.noise = row.has(Part::noise) && !row.has(Part::blur);
      steps.scale = row.has(Part::brightness);
      if (row.has(Part::contrast)) steps.measure = 0;
      break;
    case Stage::contrast:
      if (row.has(Part::contrast) && low) add_contrast(row, steps);
      break;
    case Stage::resampled:
      steps.from_scratch = low;
      if (row.has(Part::contrast) && !low) add_contrast(row, steps);
      if (row.has(Part::gamma | second)) steps.measure = 1;
      break;
    case Stage::raised:
      add_power(row, 0, steps);
      break;
    case Stage::settled:
      add_rest(row, 0, steps);
      if (row.has(Part::gamma) && row.has(second)) steps.measure = 3;
      break;
    case Stage::raised_again:
      add_power(row, 1, steps);
      break;
    case Stage::settled_again:
      add_rest(row, 1, steps);
      break;
  }
  return steps;
}

/// To a lane's values of block `number`: place i of quarter q and the same place of the other three
/// share a counter.
__device__ void add_noise(const IntensityPlan& plan, std::uint32_t channel, std::int64_t number,
                          float* values) {
  constexpr int quarter = held / 4;
  const auto first = static_cast<std::uint32_t>(number * (block_values / 4) + threadIdx.x);
#pragma unroll
  for (int i = 0; i < quarter; ++i) {
    std::uint32_t words[4] = {first + static_cast<std::uint32_t>(i) * lanes, channel};
    philox(plan.noise_key[0], plan.noise_key[1], words);
    const NormalPair a = normal_pair(words[0], words[1]);
    const NormalPair b = normal_pair(words[2], words[3]);
    const float scale = plan.noise_deviation;
    values[i] = times_plus(a.cosine, scale, values[i]);
    values[i + quarter] = times_plus(a.sine, scale, values[i + quarter]);
    values[i + 2 * quarter] = times_plus(b.cosine, scale, values[i + 2 * quarter]);
    values[i + 3 * quarter] = times_plus(b.sine, scale, values[i + 3 * quarter]);
  }
}

template <class Change>
__device__ void change(float* values, const Change& how) {
#pragma unroll
  for (int i = 0; i < held; ++i)
    values[i] = how(values[i]);
}

__device__ void do_steps(const Steps& steps, const IntensityPlan& plan, std::uint32_t channel,
                         std::int64_t number, float* values) {
  if (steps.noise) add_noise(plan, channel, number, values);
  if (steps.scale) {
    const float factor = plan.brightness_factor;
    change(values, [&](float x) { return __fmul_rn(x, factor); });
  }
  if (steps.negate) change(values, [](float x) { return -x; });
  if (steps.power) {
    const float g = steps.exponent;
    const float high = __int_as_float(__float_as_int(g) & static_cast<int>(0xfffff000U));
    const float low = __fsub_rn(g, high);
    const float divisor = larger(steps.range, epsilon);
    change(values, [&](float x) {
      const float t = __fdiv_rn(__fsub_rn(x, steps.power_from), divisor);
      return times_plus(power(t, g, high, low), steps.range, steps.power_from);
    });
  }
  if (steps.affine) {
    change(values,
           [&](float x) { return times_plus(__fsub_rn(x, steps.from), steps.factor, steps.to); });
  }
  if (steps.clamp)
    change(values, [&](float x) { return smaller(larger(x, steps.least), steps.most); });
  if (steps.negate_again) change(values, [](float x) { return -x; });
}

__device__ void measure(const float* values, BlockSums& to) {
  double sum = 0.0;
  double square = 0.0;
  float least = values[0];
  float most = values[0];
#pragma unroll
  for (int i = 0; i < held; ++i) {
    const double wide = values[i];
    sum = __dadd_rn(sum, wide);
    square = __dadd_rn(square, __dmul_rn(wide, wide));
    least = smaller(least, values[i]);
    most = larger(most, values[i]);
  }
  to.sums[threadIdx.x] = sum;
  to.squares[threadIdx.x] = square;
  to.least[threadIdx.x] = least;
  to.most[threadIdx.x] = most;
}

/// A warp takes a block of 1024 values of a row, a lane every 32nd of them: those whose sums are
/// one, and those of the noise's counters. They stay in its registers through all steps.
__global__ void __launch_bounds__(warps* lanes)
    pass(const __grid_constant__ IntensityTask task, std::int64_t count, std::int64_t first) {
  const std::int64_t blocks = (count + block_values - 1) / block_values;
  const std::int64_t at = first + static_cast<std::int64_t>(blockIdx.x) * warps + threadIdx.y;
  const std::int64_t row = at / blocks;
  if (row >= task.rows) return;
  const Steps steps = steps_of(task, row);
  const bool changes = steps.changes();
  if (!changes && steps.measure < 0) return;
  const std::int64_t number = at - row * blocks;
  const std::int64_t begin = row * count + number * block_values;
  const auto left =
      static_cast<int>(min(static_cast<std::int64_t>(block_values), count - number * block_values));
  const float* const from = (steps.from_scratch ? task.scratch : task.image) + begin;
  const auto lane = static_cast<int>(threadIdx.x);
  float values[held];
#pragma unroll
  for (int i = 0; i < held; ++i) {
    const int place = lane + i * static_cast<int>(lanes);
    values[i] = from[place < left ? place : 0];
  }
  do_steps(steps, task.plans[row], static_cast<std::uint32_t>(row % task.channels), number, values);
  if (changes) {
    float* const to = task.image + begin;
#pragma unroll
    for (int i = 0; i < held; ++i) {
      const int place = lane + i * static_cast<int>(lanes);
      if (place < left) to[place] = values[i];
    }
  }
  if (steps.measure >= 0 && left == block_values)
    measure(values, task.sums[row * (count / block_values) + number]);
}

/// Adds a row's blocks in order, a lane each of the 32 sums, then those. A warp a row.
__global__ void __launch_bounds__(lanes)
    finish(const __grid_constant__ IntensityTask task, std::int64_t count) {
  constexpr int flight = 8;  // loads of a lane on their way at once
  const std::int64_t row = blockIdx.x;
  const int place = steps_of(task, row).measure;
  if (place < 0) return;
  const unsigned lane = threadIdx.x;
  const std::int64_t whole = count / block_values;
  const BlockSums* const blocks = task.sums + row * whole;
  double sum = 0.0;
  double square = 0.0;
  float least = INFINITY;
  float most = -INFINITY;
  std::int64_t b = 0;
  const auto add = [&](double more, double squares, float low, float high) {
    sum = __dadd_rn(sum, more);
    square = __dadd_rn(square, squares);
    least = smaller(low, least);
    most = larger(high, most);
  };
  for (; b + flight <= whole; b += flight) {
    double sums[flight];
    double squares[flight];
    float low[flight];
    float high[flight];
#pragma unroll
    for (int i = 0; i < flight; ++i) {
      sums[i] = blocks[b + i].sums[lane];
      squares[i] = blocks[b + i].squares[lane];
      low[i] = blocks[b + i].least[lane];
      high[i] = blocks[b + i].most[lane];
    }
#pragma unroll
    for (int i = 0; i < flight; ++i)
      add(sums[i], squares[i], low[i], high[i]);
  }
  for (; b < whole; ++b)
    add(blocks[b].sums[lane], blocks[b].squares[lane], blocks[b].least[lane], blocks[b].most[lane]);
  for (std::int64_t i = whole * block_values + lane; i < count; i += lanes) {  // the rest
    const float x = task.image[row * count + i];
    const double wide = x;
    add(wide, __dmul_rn(wide, wide), x, x);
  }
  double all = 0.0;
  double all_squares = 0.0;
  for (int i = 0; i < static_cast<int>(lanes); ++i) {
    all = __dadd_rn(all, __shfl_sync(0xffffffffU, sum, i));
    all_squares = __dadd_rn(all_squares, __shfl_sync(0xffffffffU, square, i));
    least = smaller(__shfl_sync(0xffffffffU, least, i), least);
    most = larger(__shfl_sync(0xffffffffU, most, i), most);
  }
  if (lane != 0) return;
  const auto values = static_cast<double>(count);
  const double mean = __ddiv_rn(all, values);
  const double spread = __dsub_rn(all_squares, __dmul_rn(all, mean));
  const double variance =
      count > 1 ? __ddiv_rn(spread > 0.0 ? spread : 0.0, __dsub_rn(values, 1.0)) : 0.0;
  task.measured[row * IntensityTask::measures + place] = {
      static_cast<float>(mean), static_cast<float>(__dsqrt_rn(variance)), __fadd_rn(least, 0.0F),
      __fadd_rn(most, 0.0F)};
}

/// Whether any row is measured in that stage.
bool measures(const IntensityTask& task) {
  constexpr std::uint32_t second = Part::gamma << 1;
  switch (task.stage) {
    case Stage::blurred:
      return (task.parts & Part::contrast) != 0;
    case Stage::resampled:
      return (task.parts & (Part::gamma | second)) != 0;
    case Stage::settled:
      return (task.parts & second) != 0;
    case Stage::raised:
    case Stage::raised_again:
      return true;
    default:
      return false;
  }
}

int run_pass(const IntensityTask& task, cudaStream_t stream) {
  constexpr std::int64_t most = (std::int64_t{1} << 30) * warps;  // blocks of values of a launch
  const std::int64_t count = task.count();
  const std::int64_t all = task.rows * ((count + block_values - 1) / block_values);
  for (std::int64_t first = 0; first < all; first += most) {
    const std::int64_t part = std::min(most, all - first);
    const auto blocks = static_cast<unsigned>((part + warps - 1) / warps);
    const cudaError_t status =
        launch_grid(pass, {{blocks}, {lanes, warps}, stream}, task, count, first);
    if (status != cudaSuccess) return status;
  }
  if (all == 0 || !measures(task)) return cudaSuccess;
  return launch_grid(finish, {{static_cast<unsigned>(task.rows)}, {lanes}, stream}, task, count);
}

}  // namespace
}  // namespace headrace::inline v1::detail

extern "C" HEADRACE_API int headrace_intensity_pass(const void* task, void* stream) {
  using headrace::detail::IntensityTask;
  return headrace::detail::run_pass(*static_cast<const IntensityTask*>(task),
                                    static_cast<cudaStream_t>(stream));
}
