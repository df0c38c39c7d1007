#pragma once

#include <headrace/engine/sample/source.h>
#include <headrace/loaders/memory/table.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1 {

/// How a planted delay passes.
enum class Delay : unsigned char {
  sleep,  ///< as a disk would make one wait
  busy,   ///< as a decoder would keep a core busy
};

struct SyntheticOptions {
  std::int64_t rows = 1024;
  Schema fields{FieldSpec::fixed("image", DType::uint8, {28, 28}),
                FieldSpec::fixed("label", DType::int64, {})};
  std::uint64_t seed = 0;
  bool gathers = true;    ///< offers gather(), where every field is fixed
  bool blocking = false;  ///< read on the I/O threads
  std::int64_t preferred_rows = 0;
  std::chrono::nanoseconds delay{0};  ///< of a slow record
  std::int64_t slow_every = 1;        ///< records 0, k, 2k, ... are slow
  Delay kind = Delay::sleep;
  std::vector<std::int64_t> failing{};  ///< records that throw DataError when they are read
};

/// Records of known content: every byte is a pure function of (seed, record, field), so that a test
/// can check any row wherever it turns up. Integers use all their bits, but for a field named
/// "label", which counts 0 to 9; floats are in [0, 1), booleans 0 or 1; padded and ragged fields
/// have sizes of the same kind, at least 1.
class HEADRACE_API SyntheticSource final : public Source {
 public:
  /// Throws ConfigError when rows are negative, there is no field, or `slow_every` is not positive.
  explicit SyntheticSource(SyntheticOptions options);

  std::string name() const override { return "synthetic"; }
  std::int64_t size() const override { return options_.rows; }
  Schema fields() const override { return options_.fields; }
  void read(std::int64_t index, Sample& sample) const override;
  bool blocking() const override { return options_.blocking; }
  bool gathers() const override { return gathers_; }
  void gather(std::span<const std::int64_t> indices, const Rows& rows) const override;
  std::int64_t preferred_rows() const override { return options_.preferred_rows; }
  std::string origin(std::int64_t index) const override;

  /// What read() gives for a field of a record; without delay or failure.
  Tensor expected(std::int64_t index, std::string_view field) const;
  /// The same rows in huge-page memory. Throws ConfigError unless every field is fixed.
  Table table() const;

 private:
  void pass(std::int64_t index) const;
  Shape shape_of(std::int64_t index, const FieldSpec& field) const;
  void fill(std::int64_t index, const FieldSpec& field, void* to, std::size_t elements) const;

  SyntheticOptions options_;
  bool gathers_ = false;
};

}  // namespace headrace::inline v1
