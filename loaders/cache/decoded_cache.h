#pragma once

#include <headrace/engine/base/error.h>
#include <headrace/engine/base/export.h>
#include <headrace/engine/plan/operation.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/engine/sample/source.h>

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace headrace::inline v1 {

struct DecodedCacheOptions {
  std::size_t bytes = 0;  ///< most that kept samples take; what comes after that is made anew
  /// Kept on disk in this folder, as a file without a name that vanishes with the cache; empty: in
  /// memory.
  std::filesystem::path folder{};
  LogCallback log{};  ///< told once if the disk fails; the samples are then made anew
};

namespace detail {
class CacheStore;
template <class T>
class PerProcess;

/// Whether an operation says that it draws nothing as it is set up.
template <class Op>
bool draws(const Op& op) {
  if constexpr (PlainSampleOperation<Op>) return false;
  if constexpr (requires {
                  { op.draws() } -> std::convertible_to<bool>;
                })
    return op.draws();
  return RandomSampleOperation<Op>;
}

template <class Op>
std::string cached_name(const Op& op) {
  if constexpr (requires {
                  { op.name() } -> std::convertible_to<std::string>;
                })
    return op.name();
  return "operation";
}
}  // namespace detail

/// Samples as they are before the first random operation, kept for the epochs that follow: a source
/// and a first step that belong together.
///
///     DecodedCache cache(folder, {.bytes = 8_GiB});
///     Pipeline::from(cache.source())
///         .then(cache.keep(DecodeImage{.crop = ResizeTo{256, 256}}))
///         .then(HorizontalFlip{})
///
/// A kept record is neither read nor decoded again; the bytes are the same with and without. Each
/// part of a record (Expanded) is a sample of its own. What came first stays: with every record
/// once an epoch no other choice keeps more. One cache may serve several loaders at once. The
/// forecast counts `bytes` with the source. Thread-safe. A process that is forked later begins with
/// nothing kept, in a file of its own.
class HEADRACE_API DecodedCache {
 public:
  /// Throws ConfigError without a source or bytes, ResourceError when no file can be made in the
  /// folder.
  DecodedCache(std::shared_ptr<const Source> source, const DecodedCacheOptions& options);
  ~DecodedCache();

  /// Bytes that suffice for `records` samples of the fields `kept`: more is of no use.
  static std::size_t bytes_for(const Schema& kept, std::int64_t records);

  /// The source for Pipeline::from(). Its samples are made whole by the step keep() and nothing
  /// else.
  std::shared_ptr<const Source> source() const;

  /// Operations as one step, the first of the pipeline, whose result is kept.
  template <SampleOperation... Ops>
  class Kept;
  /// Throws ConfigError for an operation that draws at random.
  template <SampleOperation... Ops>
  Kept<Ops...> keep(Ops... ops) const {
    (require_plain(detail::draws(ops), detail::cached_name(ops)), ...);
    return Kept<Ops...>(store_, std::move(ops)...);
  }

  struct Stats {
    std::int64_t samples = 0;  ///< kept
    std::size_t bytes = 0;     ///< that they take
    std::size_t most = 0;      ///< that they may take
    std::int64_t hits = 0;
    std::int64_t misses = 0;
    bool full = false;
  };
  Stats stats() const;
  bool on_disk() const noexcept;

  /// Lets go of kept samples until they take `bytes` or less, and keeps no more than that from now
  /// on; what is gone is made anew. Returns the bytes that it let go of; 0 on disk. Thread-safe.
  std::size_t shrink(std::size_t bytes) const;

 private:
  friend class WeakCache;
  explicit DecodedCache(std::shared_ptr<detail::CacheStore> store) : store_(std::move(store)) {}
  static void require_plain(bool draws, const std::string& name);

  std::shared_ptr<detail::CacheStore> store_;
};

/// A cache that lives as long as somebody else uses it: for who answers for the process's memory.
class WeakCache {
 public:
  explicit WeakCache(const DecodedCache& cache) : store_(cache.store_) {}
  /// Nothing once it is gone.
  std::optional<DecodedCache> lock() const {
    auto store = store_.lock();
    return store ? std::optional(DecodedCache(std::move(store))) : std::nullopt;
  }

 private:
  std::weak_ptr<detail::CacheStore> store_;
};

namespace detail {

/// What a kept sample is of.
struct CacheKey {
  std::int64_t index = 0;
  std::int64_t part = 0;  ///< of the record, as its sample's origin says
  friend auto operator<=>(const CacheKey&, const CacheKey&) = default;
};

/// What is kept, behind source and step.
class HEADRACE_API CacheStore {
 public:
  /// Says which record a sample is, and whether it is whole already; taken out by the step.
  static constexpr const char* mark = "decoded cache";

  CacheStore(std::shared_ptr<const Source> source, const DecodedCacheOptions& options);
  ~CacheStore();
  CacheStore(const CacheStore&) = delete;
  CacheStore& operator=(const CacheStore&) = delete;

  const Source& source() const noexcept { return *source_; }
  static std::size_t most_bytes(const Schema& kept);
  bool on_disk() const noexcept { return !options_.folder.empty(); }
  std::size_t resident_bytes() const;

  /// Fills the sample from what is kept, or leaves that to the step; false when the record is not
  /// kept. `may_wait` allows for a disk.
  bool fetch(const CacheKey& key, Sample& sample, bool may_wait, bool& waits) const;
  /// Marks a sample that the source has made.
  static void set_mark(Sample& sample, const CacheKey& key, bool whole = false);
  /// For the step: takes the mark out; true when the sample is whole now. Else `key` is set, and
  /// the sample is as the source makes it.
  bool complete(Sample& sample, CacheKey& key) const;
  void keep(const CacheKey& key, const Sample& sample);
  std::size_t shrink(std::size_t bytes);
  /// The fields without the mark. Throws ConfigError where there is none: the source is another.
  static Schema without_mark(const Schema& in);

  DecodedCache::Stats stats() const;

 private:
  struct Layout;
  struct Entry;
  struct Table;

  Table& table() const;
  const Layout* layout_of(const Sample& sample);
  bool reserve(std::size_t bytes);
  bool store(Entry& entry, const Sample& sample);
  std::size_t bytes_of(const Entry& entry) const;
  void give_up(const std::string& reason) const;
  bool load(const Entry& entry, Sample& sample, bool may_wait) const;

  std::shared_ptr<const Source> source_;
  DecodedCacheOptions options_;
  std::unique_ptr<const PerProcess<Table>> table_;
};

}  // namespace detail

template <SampleOperation... Ops>
class DecodedCache::Kept {
 public:
  static constexpr bool decodes = true;

  Kept(std::shared_ptr<detail::CacheStore> store, Ops... ops)
      : store_(std::move(store)), ops_(std::move(ops)...) {}

  /// That of the first operation: statistics and draws of later ones are those without a cache.
  std::string name() const { return detail::cached_name(std::get<0>(ops_)); }

  Schema schema(const Schema& in) const {
    Schema out = detail::CacheStore::without_mark(in);
    std::apply([&out](const Ops&... op) { (apply_schema(op, out), ...); }, ops_);
    return out;
  }

  std::size_t working_bytes(const Schema& in) const {
    Schema before = detail::CacheStore::without_mark(in);
    std::size_t sum = 0;
    std::apply(
        [&](const Ops&... op) { ((sum += bytes_of(op, before), apply_schema(op, before)), ...); },
        ops_);
    return sum;
  }

  void operator()(Sample& sample) const {
    detail::CacheKey key;
    if (store_->complete(sample, key)) return;
    Random none;
    std::apply([&](const Ops&... op) { (detail::call_step(op, sample, none), ...); }, ops_);
    store_->keep(key, sample);
  }

 private:
  template <class Op>
  static void apply_schema(const Op& op, Schema& schema) {
    if constexpr (requires {
                    { op.schema(schema) } -> std::convertible_to<Schema>;
                  })
      schema = op.schema(schema);
  }
  template <class Op>
  static std::size_t bytes_of(const Op& op, const Schema& in) {
    if constexpr (requires {
                    { op.working_bytes(in) } -> std::convertible_to<std::size_t>;
                  })
      return op.working_bytes(in);
    return 0;
  }

  std::shared_ptr<detail::CacheStore> store_;
  std::tuple<Ops...> ops_;
};

}  // namespace headrace::inline v1
