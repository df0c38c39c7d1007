#pragma once

#include <headrace/augment/volume/detail/voxels.h>

#include <array>
#include <cstdint>
#include <span>

namespace headrace::inline v1::detail {

/// What is done to each value of a channel, which is finite, from its own value and its place
/// alone. Products and sums are rounded apart, so values are the same on every vector width, in
/// every grouping into passes, and for a device that does the same.
struct VoxelStep {
  enum class Kind : unsigned char {
    noise,   ///< x + scale * normal(key, channel, place)
    scale,   ///< x * scale
    affine,  ///< (x - from) * scale + to
    clamp,   ///< at least `from`, at most `to`
    /// ((x - from) / divisor) ^ exponent * scale + from, for from <= x <= from + divisor; the power
    /// within 1e-6 of itself, 0 below 2^-126.
    power,
    negate,  ///< -x
  };
  Kind kind = Kind::negate;
  float scale = 1.0F;
  float from = 0.0F;
  float to = 0.0F;
  float divisor = 1.0F;
  float exponent = 1.0F;
  std::array<std::uint32_t, 2> key{};  ///< of the noise, for Philox 4x32-10
  std::uint32_t channel = 0;           ///< of the noise
};

/// Of the values of a channel. Sums are of doubles: value i goes to sum i mod 32 of its block of
/// 1024 values, the blocks' sums are added in order, then the 32.
struct VoxelStatistics {
  float mean = 0.0F;
  float deviation = 0.0F;  ///< of a sample: the divisor is count - 1
  float least = 0.0F;
  float most = 0.0F;
};

/// Statistics of the negated values: the same as measured.
VoxelStatistics negated(const VoxelStatistics& of);

/// The values of one channel and steps that are due on them; steps gather until a statistic or the
/// memory itself is needed, so that a chain of operations reads and writes as seldom as it can.
class VoxelChain {
 public:
  VoxelChain(float* data, std::int64_t count, int target = -1)
      : data_(data), count_(count), target_(target) {}

  /// At most 8 between two flushes; more flush by themselves.
  void add(const VoxelStep& step);
  /// Does what is due and measures the result, in one pass.
  VoxelStatistics measure();
  /// Does what is due.
  void flush();
  /// The memory; flush() before it is read or written.
  float* data() const { return data_; }
  int target() const { return target_; }

 private:
  float* data_;
  std::int64_t count_;
  int target_;
  std::array<VoxelStep, 8> due_{};
  std::size_t due_count_ = 0;
};

/// The pass itself: `steps` in order on each value, then, where `statistics` is given, what they
/// have become is measured. On the best vector target, or on the given one; false when there is
/// none of that number.
bool pass_voxels(std::span<float> values, std::span<const VoxelStep> steps,
                 VoxelStatistics* statistics, int target = -1);

/// The normal value that noise adds at place `i`: from words of Philox's block (i / 1024 * 256 + i
/// mod 256, channel, 0, 0): with w of the pairs 0, 1 and 2, 3, chosen by i / 512 mod 2,
/// r = sqrt(-2 ln((w0 / 256 + .5) / 2^24)), the angle from w1, its cosine for even i / 256, its
/// sine for odd. Same bits as the pass; slow.
float voxel_normal(std::array<std::uint32_t, 2> key, std::uint32_t channel, std::int64_t i);

}  // namespace headrace::inline v1::detail
