#pragma once

#include <headrace/engine/base/export.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// An order bound to a number of records: for an epoch and a place, the index. Const and
/// thread-safe; nothing but (seed, epoch, place) goes in, so any place can be asked for at any
/// time. Version 1 of the definitions below is stored in positions (`Position::order_version`).
class HEADRACE_API IndexStream {
 public:
  static constexpr int version = 1;

  virtual ~IndexStream() = default;
  /// Samples in one epoch.
  virtual std::int64_t length() const noexcept = 0;
  /// Indices of the places [first, first + out.size()) of an epoch.
  virtual void indices(std::int64_t epoch, std::int64_t first,
                       std::span<std::int64_t> out) const = 0;
  /// Each record exactly once an epoch (true also for the cut and wrapped forms, within each pass).
  virtual bool exactly_once() const noexcept = 0;
  /// What the draws are keyed with; 0 where nothing is drawn.
  virtual std::uint64_t seed() const noexcept = 0;
  /// For graphs and messages: "shuffled (seed 7)".
  virtual std::string describe() const = 0;
  /// Host memory that the stream holds.
  virtual std::size_t bytes() const noexcept { return 0; }
};

/// What may be given to Pipeline::order(): a plain value that binds to a number of records. bind()
/// throws ConfigError when the two do not fit.
template <class O>
concept OrderLike = requires(const O& order, std::int64_t records) {
  { order.bind(records) } -> std::convertible_to<std::shared_ptr<const IndexStream>>;
};

/// 0, 1, 2, ...; `epoch_size` > 0 cuts or wraps an epoch to that many samples.
struct HEADRACE_API Sequential {
  std::int64_t epoch_size = 0;
  std::shared_ptr<const IndexStream> bind(std::int64_t records) const;
};

/// A fresh uniform-looking permutation for every epoch, computed place by place in O(1) memory
/// (generalised Feistel network over a x b >= n with cycle walking; Black & Rogaway, CT-RSA 2002).
struct HEADRACE_API Shuffled {
  std::uint64_t seed = 0;
  std::int64_t epoch_size = 0;
  std::shared_ptr<const IndexStream> bind(std::int64_t records) const;
};

/// Chunks of `chunk` neighbouring records are permuted, and records are permuted inside windows of
/// `window` chunks: for storage where neighbours are cheap together. Exactly once, O(1) memory.
struct HEADRACE_API ShuffledByChunk {
  std::uint64_t seed = 0;
  std::int64_t chunk = 256;
  std::int64_t window = 16;
  std::int64_t epoch_size = 0;
  std::shared_ptr<const IndexStream> bind(std::int64_t records) const;
};

/// Draws with replacement, record i with probability weights[i] / sum (Vose's alias table, 12 bytes
/// a record).
struct HEADRACE_API Weighted {
  std::vector<double> weights;
  std::uint64_t seed = 0;
  std::int64_t epoch_size = 0;
  std::shared_ptr<const IndexStream> bind(std::int64_t records) const;
};

/// Draws with replacement: first a class, uniformly, then a record of it, uniformly.
struct HEADRACE_API Balanced {
  std::vector<std::int64_t> labels;
  std::uint64_t seed = 0;
  std::int64_t epoch_size = 0;
  std::shared_ptr<const IndexStream> bind(std::int64_t records) const;
};

}  // namespace headrace::inline v1
