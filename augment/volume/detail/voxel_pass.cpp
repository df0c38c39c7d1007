// Compiled once for every vector target; Highway picks one at run time.
#include <headrace/augment/volume/detail/voxel_pass.h>
#include <headrace/engine/base/internal/vector_target.h>

#include <algorithm>
#include <bit>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/augment/volume/detail/voxel_pass.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format off: after foreach_target.h, for each target
#include <headrace/augment/volume/detail/voxel_math.h>
// clang-format on

#ifndef HEADRACE_VOXEL_SUMS
#define HEADRACE_VOXEL_SUMS
namespace headrace::inline v1::detail {

/// Values are worked on in blocks, all steps on one before the next: they stay in the first cache.
inline constexpr std::int64_t voxel_block = 1024;
inline constexpr std::int64_t voxel_sums = 32;

struct VoxelSums {
  alignas(64) double sums[voxel_sums] = {};
  alignas(64) double squares[voxel_sums] = {};
  alignas(64) float least[voxel_sums];
  alignas(64) float most[voxel_sums];
};

}  // namespace headrace::inline v1::detail
#endif

HWY_BEFORE_NAMESPACE();
namespace headrace::inline v1::detail::HWY_NAMESPACE {
namespace {  // other kernels' helpers have such names, too

/// The upper words of the 64-bit products.
HWY_INLINE Words multiply_high(Words a, Words b) {
  const W d;
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(d,
                 static_cast<std::uint32_t>(std::uint64_t{hn::GetLane(a)} * hn::GetLane(b) >> 32));
#else
  const hn::Repartition<std::uint64_t, W> wide;
  const auto even = hn::MulEven(a, b);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, a))),
                               hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, b))));
  const auto upper = hn::And(odd, hn::Set(wide, 0xffffffff00000000ULL));
  return hn::BitCast(d, hn::Or(hn::ShiftRight<32>(even), upper));
#endif
}

/// Philox 4x32-10 of counters (c, channel, 0, 0).
HWY_INLINE void philox(const VoxelStep& step, Words& c0, Words& c1, Words& c2, Words& c3) {
  const W d;
  const Words m0 = hn::Set(d, 0xD2511F53U);
  const Words m1 = hn::Set(d, 0xCD9E8D57U);
  std::uint32_t k0 = step.key[0];
  std::uint32_t k1 = step.key[1];
  c1 = hn::Set(d, step.channel);
  c2 = hn::Zero(d);
  c3 = hn::Zero(d);
  for (int round = 0; round < 10; ++round) {
    const Words high0 = multiply_high(c0, m0);
    const Words high1 = multiply_high(c2, m1);
    const Words low0 = hn::Mul(c0, m0);
    const Words low1 = hn::Mul(c2, m1);
    c0 = hn::Xor(hn::Xor(high1, c1), hn::Set(d, k0));
    c2 = hn::Xor(hn::Xor(high0, c3), hn::Set(d, k1));
    c1 = low1;
    c3 = low0;
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
}

HWY_INLINE void add_to(float* at, Values value, float scale) {
  const F d;
  hn::StoreU(hn::Add(hn::LoadU(d, at), hn::Mul(value, constant(scale))), d, at);
}

void add_noise(const VoxelStep& step, std::int64_t number, float* block) {
  constexpr std::int64_t quarter = voxel_block / 4;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(F()));
  for (std::int64_t i = 0; i < quarter; i += lanes) {
    Words a = hn::Iota(W(), static_cast<std::uint32_t>(number * quarter + i));
    Words b, c, d;
    philox(step, a, b, c, d);
    const NormalPair first = normal_pair(a, b);
    const NormalPair second = normal_pair(c, d);
    add_to(block + i, first.cosine, step.scale);
    add_to(block + quarter + i, first.sine, step.scale);
    add_to(block + 2 * quarter + i, second.cosine, step.scale);
    add_to(block + 3 * quarter + i, second.sine, step.scale);
  }
}

template <class Change>
HWY_INLINE void change_block(float* block, std::int64_t count, const Change& change) {
  const F d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < count; i += lanes)
    hn::StoreU(change(hn::LoadU(d, block + i)), d, block + i);
}

void raise_block(const VoxelStep& step, float* block, std::int64_t count) {
  const float high =
      std::bit_cast<float>(std::bit_cast<std::uint32_t>(step.exponent) & 0xfffff000U);
  const Values g = constant(step.exponent);
  const Values g_high = constant(high);
  const Values g_low = constant(step.exponent - high);
  const Values from = constant(step.from);
  const Values divisor = constant(step.divisor);
  const Values scale = constant(step.scale);
  change_block(block, count, [&](Values x) HWY_ATTR {
    const Values t = hn::Div(hn::Sub(x, from), divisor);
    return times_plus(power(t, g, g_high, g_low), scale, from);
  });
}

/// `block` holds whole vectors.
void do_step(const VoxelStep& step, std::int64_t number, float* block, std::int64_t count) {
  const Values scale = constant(step.scale);
  const Values from = constant(step.from);
  const Values to = constant(step.to);
  switch (step.kind) {
    case VoxelStep::Kind::noise:
      return add_noise(step, number, block);
    case VoxelStep::Kind::scale:
      return change_block(block, count, [&](Values x) HWY_ATTR { return hn::Mul(x, scale); });
    case VoxelStep::Kind::affine:
      return change_block(
          block, count, [&](Values x) HWY_ATTR { return times_plus(hn::Sub(x, from), scale, to); });
    case VoxelStep::Kind::clamp:
      return change_block(block, count,
                          [&](Values x) HWY_ATTR { return hn::Min(hn::Max(x, from), to); });
    case VoxelStep::Kind::power:
      return raise_block(step, block, count);
    case VoxelStep::Kind::negate:
      return change_block(block, count, [](Values x) HWY_ATTR { return hn::Neg(x); });
  }
}

using Doubles = hn::ScalableTag<double>;
using Halves = hn::Rebind<float, Doubles>;

/// Columns `column` .. + lanes - 1 of the block's rows of 32.
HWY_INLINE void measure_column(const float* block, std::int64_t column, VoxelSums& sums) {
  const Doubles d;
  const Halves h;
  auto sum = hn::Zero(d);
  auto square = hn::Zero(d);
  auto least = hn::LoadU(h, block + column);
  auto most = least;
  for (std::int64_t i = column; i < voxel_block; i += voxel_sums) {
    const auto x = hn::LoadU(h, block + i);
    const auto wide = hn::PromoteTo(d, x);
    sum = hn::Add(sum, wide);
    square = hn::Add(square, hn::Mul(wide, wide));
    least = hn::Min(least, x);
    most = hn::Max(most, x);
  }
  hn::Store(hn::Add(hn::Load(d, sums.sums + column), sum), d, sums.sums + column);
  hn::Store(hn::Add(hn::Load(d, sums.squares + column), square), d, sums.squares + column);
  hn::StoreU(hn::Min(hn::LoadU(h, sums.least + column), least), h, sums.least + column);
  hn::StoreU(hn::Max(hn::LoadU(h, sums.most + column), most), h, sums.most + column);
}

void measure_block(const float* block, VoxelSums& sums) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Doubles()));
  for (std::int64_t column = 0; column < voxel_sums; column += lanes)
    measure_column(block, column, sums);
}

void measure_rest(const float* block, std::int64_t count, VoxelSums& sums) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = i % voxel_sums;
    const double wide = block[i];
    sums.sums[at] += wide;
    sums.squares[at] += wide * wide;
    sums.least[at] = std::min(sums.least[at], block[i]);
    sums.most[at] = std::max(sums.most[at], block[i]);
  }
}

/// `sums` may be null.
void pass(std::span<float> values, std::span<const VoxelStep> steps, VoxelSums* sums) {
  const auto count = static_cast<std::int64_t>(values.size());
  const std::int64_t whole = count / voxel_block;
  for (std::int64_t b = 0; b < whole; ++b) {
    float* block = values.data() + b * voxel_block;
    for (const VoxelStep& step : steps)
      do_step(step, b, block, voxel_block);
    if (sums != nullptr) measure_block(block, *sums);
  }
  const std::int64_t left = count - whole * voxel_block;
  if (left == 0) return;
  float* from = values.data() + whole * voxel_block;
  alignas(64) float rest[voxel_block];
  std::copy(from, from + left, rest);
  std::fill(rest + left, rest + voxel_block, from[0]);
  for (const VoxelStep& step : steps)
    do_step(step, whole, rest, voxel_block);
  if (sums != nullptr) measure_rest(rest, left, *sums);
  std::copy(rest, rest + left, from);
}

/// One value through the noise's vectors.
void one_normal(const VoxelStep& step, std::int64_t i, float* to) {
  alignas(64) float block[voxel_block] = {};
  add_noise(step, i / voxel_block, block);
  *to = block[i % voxel_block];
}

}  // namespace
}  // namespace headrace::inline v1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::inline v1::detail {
namespace {

HWY_EXPORT(pass);
HWY_EXPORT(one_normal);

VoxelStatistics statistics_of(const VoxelSums& sums, double count) {
  VoxelStatistics result{.least = sums.least[0], .most = sums.most[0]};
  double sum = 0;
  double square = 0;
  for (std::int64_t i = 0; i < voxel_sums; ++i) {
    sum += sums.sums[i];
    square += sums.squares[i];
    result.least = std::min(result.least, sums.least[i]);
    result.most = std::max(result.most, sums.most[i]);
  }
  const double mean = sum / count;
  const double spread = count > 1 ? std::max(0.0, square - sum * mean) / (count - 1) : 0.0;
  result.mean = static_cast<float>(mean);
  result.deviation = static_cast<float>(std::sqrt(spread));
  result.least += 0.0F;  // of the two zeros the positive one
  result.most += 0.0F;
  return result;
}

}  // namespace

VoxelStatistics negated(const VoxelStatistics& of) {
  return {.mean = -of.mean, .deviation = of.deviation, .least = -of.most, .most = -of.least};
}

void VoxelChain::add(const VoxelStep& step) {
  if (due_count_ == due_.size()) flush();
  due_[due_count_++] = step;
}

VoxelStatistics VoxelChain::measure() {
  VoxelStatistics result;
  pass_voxels({data_, static_cast<std::size_t>(count_)}, {due_.data(), due_count_}, &result,
              target_);
  due_count_ = 0;
  return result;
}

void VoxelChain::flush() {
  if (due_count_ == 0) return;
  pass_voxels({data_, static_cast<std::size_t>(count_)}, {due_.data(), due_count_}, nullptr,
              target_);
  due_count_ = 0;
}

bool pass_voxels(std::span<float> values, std::span<const VoxelStep> steps,
                 VoxelStatistics* statistics, int target) {
  VoxelSums sums;
  const float first = values.empty() ? 0.0F : INFINITY;
  std::fill_n(sums.least, voxel_sums, first);
  std::fill_n(sums.most, voxel_sums, -first);
  VoxelSums* measured = statistics == nullptr ? nullptr : &sums;
  HEADRACE_RUN(pass, values, steps, measured);
  if (statistics != nullptr) {
    *statistics = values.empty() ? VoxelStatistics{}
                                 : statistics_of(sums, static_cast<double>(values.size()));
  }
  return true;
}

float voxel_normal(std::array<std::uint32_t, 2> key, std::uint32_t channel, std::int64_t i) {
  float value = 0;
  const VoxelStep step{.kind = VoxelStep::Kind::noise, .key = key, .channel = channel};
  HWY_DYNAMIC_DISPATCH(one_normal)(step, i, &value);
  return value;
}

}  // namespace headrace::inline v1::detail
#endif
