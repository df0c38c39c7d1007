#pragma once

#include <headrace/benchmarks/device/side.h>
#include <headrace/benchmarks/harness/report.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/engine/sample/source.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::bench {

/// How much, and how often.
struct Extent {
  std::vector<std::size_t> sizes;  ///< bytes of a batch
  int repeats = 7;
  /// Bytes that one measurement moves, roughly: a batch is done again until it has.
  std::size_t traffic = std::size_t{4} << 30;
  int threads = 2;  ///< workers of loaders

  /// Calls that move so many bytes each.
  int times(std::size_t bytes) const {
    const std::size_t calls = traffic / (bytes + 1);
    return static_cast<int>(calls < 4 ? 4 : calls > 200 ? 200 : calls);
  }
  /// Goals are for batches that no cache holds: the largest.
  std::optional<Goal> at_largest(std::size_t size, Goal goal) const {
    for (const std::size_t each : sizes) {
      if (each > size) return std::nullopt;
    }
    return goal;
  }
};

/// What a section measures with and where it reports to.
struct Bench {
  Side& side;
  const Extent& extent;
  Report& report;
};

/// What copies reach: on the device, to it from page-locked and pageable memory, back, and both
/// ways at once.
void measure_ceilings(const Bench& bench);
/// A loader's transfer stage beside a ring of bare copies: back to back, and behind a step.
void measure_transfer(const Bench& bench);
/// Normalize beside a copy on the device of as many bytes.
void measure_normalize(const Bench& bench);
/// SpecAugment on batches, in place and through a warp, beside the same.
void measure_spec_augment(const Bench& bench);
/// Gathered rows beside the same, and a DeviceTable beside its kernel alone.
void measure_gather(const Bench& bench);
/// Patches of volumes: cut, turned and bent out of boxes, and their intensity changed as nnU-Net
/// does; milliseconds of a batch.
void measure_volume(const Bench& bench);

/// Rows without contents: gather() leaves the slab as it is, but for uint8 fields called "flip",
/// which are 1 for odd records. What a loader does beside reading is left.
class StillSource final : public Source {
 public:
  StillSource(std::int64_t rows, Schema fields) : rows_(rows), fields_(std::move(fields)) {}

  std::string name() const override { return "still rows"; }
  std::int64_t size() const override { return rows_; }
  Schema fields() const override { return fields_; }
  void read(std::int64_t index, Sample& sample) const override;
  bool gathers() const override { return true; }
  void gather(std::span<const std::int64_t> indices, const Rows& rows) const override;

 private:
  std::int64_t rows_;
  Schema fields_;
};

/// The first batch of a pipeline, lent to the side's stream for as long as this lives.
struct Held {
  Loader loader;
  Batch batch;
};
Held hold(Pipeline pipeline, const Bench& bench);

/// Times `work` on the side's stream; GB/s of the `bytes` that one call reads and writes.
Measured rate_of(const Bench& bench, std::string name, std::size_t bytes,
                 std::function<void()> work);
/// A copy within the device that reads and writes `bytes` together: what kernels are held against.
/// Its memory lives as long as the returned contender.
Measured copy_of(const Bench& bench, std::size_t bytes);
constexpr const char* copy_name = "device copy of as many bytes";

/// "29 MB".
std::string in_megabytes(std::size_t bytes);

}  // namespace headrace::inline v1::bench
