#pragma once

#include <headrace/engine/base/error.h>
#include <headrace/engine/base/export.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>
#include <headrace/engine/tensor/tensor.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

namespace headrace::inline v1 {

struct LabelCacheOptions {
  std::filesystem::path folder;                       ///< made where it is not there
  std::uint64_t most_bytes = std::uint64_t{4} << 30;  ///< of all files in it
  int level = 3;                                      ///< of Zstandard, 1 to 19
};

/// Results of label operations in a folder, one compressed file each, named by operation,
/// parameters and the label's content: the same label gives the same file whatever it is called. A
/// file appears whole or not at all; a damaged one counts as none. Beyond its bytes the least
/// recently used files go. Several processes may share a folder; each keeps the limit. Thread-safe.
class HEADRACE_API LabelCache {
 public:
  /// Throws ConfigError for options that cannot be right and for a folder that cannot be made.
  explicit LabelCache(LabelCacheOptions options);
  ~LabelCache();

  /// Fills `result`, whose shape and dtype are known, with what put() was given for that label and
  /// text; false where there is nothing.
  bool get(const std::string& text, const Tensor& label, const Tensor& result) const;
  /// Keeps a result. What cannot be written, as on a full disk, is not kept, and that is all.
  void put(const std::string& text, const Tensor& label, const Tensor& result) const;

  std::uint64_t hits() const noexcept;
  std::uint64_t misses() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A label operation whose results are kept (DistanceTransform, Skeleton): an operation in its
/// place, with the same name, schema and values. Worth it for labels that come again as they are,
/// and for work that takes longer than reading a file: skeletons, exact distances of large volumes.
template <class Op>
struct CachedLabels {
  Op op{};
  std::shared_ptr<const LabelCache> cache{};

  std::string name() const { return op.name(); }
  /// As the operation's; throws ConfigError without a cache, too.
  Schema schema(const Schema& in) const {
    if (cache == nullptr) throw ConfigError("[" + name() + "] a label cache is needed, got none");
    return op.schema(in);
  }
  std::size_t working_bytes(const Schema& in) const { return op.working_bytes(in); }
  void operator()(Sample& sample) const {
    const Tensor label = sample[op.field];
    const Tensor result = sample.make(op.to, Op::result, label.shape());
    if (cache->get(op.parameters(), label, result)) return;
    op(sample);
    cache->put(op.parameters(), label, sample[op.to]);
  }
};

}  // namespace headrace::inline v1
