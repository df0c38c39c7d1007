#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <headrace/engine/device.h>
#include <headrace/engine/operation.h>
#include <headrace/engine/order.h>
#include <headrace/engine/runtime.h>
#include <headrace/engine/source.h>
#include <headrace/engine/watchdog.h>

namespace headrace::inline v1 {

class Loader;

inline namespace literals {
constexpr std::size_t operator""_KiB(unsigned long long n) {
  return static_cast<std::size_t>(n) << 10;
}
constexpr std::size_t operator""_MiB(unsigned long long n) {
  return static_cast<std::size_t>(n) << 20;
}
constexpr std::size_t operator""_GiB(unsigned long long n) {
  return static_cast<std::size_t>(n) << 30;
}
}  // namespace literals

/// What happens to the samples at the end of an epoch that do not fill a batch.
enum class Tail : unsigned char {
  shorter,  ///< delivered as a shorter batch (over ranks: shared out, so every rank gets the same
            ///< number of batches)
  drop,     ///< left out
  pad,  ///< delivered as a full batch; bool field "valid" [rows] says which rows are samples, the
        ///< others are zero
};

struct Batching {
  std::int64_t size = 0;  ///< rows of a batch over all ranks together
  Tail tail = Tail::shorter;
};

/// This process's share of every batch: rows [rank, rank + 1) * size / world.
struct Ranks {
  int rank = 0;
  int world = 1;
};

/// What to do with a sample that cannot be read or decoded.
struct BadSamples {
  enum class Rule : unsigned char {
    fail,     ///< the epoch ends with a DataError
    replace,  ///< by another record, a function of seed, epoch, position and attempt
    shrink,   ///< the row is zero (or the fill) and its "valid" is false
  };

  Rule rule = Rule::fail;
  std::int64_t most =
      -1;  ///< more bad samples than this end the run with a PipelineError; < 0: no limit
  double most_share = 1.0;      ///< likewise, as a share of an epoch's samples
  int attempts = 16;            ///< replacements tried for one row
  std::filesystem::path log{};  ///< bad_samples.jsonl: one line for every case; empty: none
};

/// Lines from the library: what was chosen, what was slower than it could be. Called from any
/// thread.
enum class LogLevel : unsigned char { debug, info, warning };
using LogCallback = std::function<void(LogLevel, std::string_view)>;

struct LoaderOptions {
  int prefetch = 4;  ///< batches made ready ahead of the trainer; below 3 one slow sample is felt
  int loans = 1;     ///< batches that the trainer may hold at once
  std::size_t host_memory = 0;  ///< bytes that this loader may take; 0: only the runtime's limit
  std::size_t sample_memory =
      0;             ///< bytes of samples between read and collate; 0: from the source's estimates
  bool fuse = true;  ///< neighbouring steps without a limit share a node
  bool join_epochs =
      true;  ///< the next epoch's first batches are prepared while this one is finished
  bool statistics = true;
  WatchdogOptions watchdog{};        ///< a stage that never returns; default: nobody looks
  std::optional<Runtime> runtime{};  ///< default: Runtime::process_default()
  LogCallback log{};
};

namespace detail {
struct Recipe {
  std::string name = "loader";
  std::shared_ptr<const Source> source;
  std::function<std::shared_ptr<const IndexStream>(std::int64_t)> bind_order;
  std::optional<std::uint64_t> seed;
  Ranks ranks;
  std::vector<SampleStep> sample_steps;
  std::vector<BatchStep> batch_steps;
  std::optional<Batching> batching;
  Device device;
  BadSamples bad_samples;
};
}  // namespace detail

/// The recipe of a loader, a plain value: copy it, change it, build it more than once. Nothing is
/// read or started before the first epoch of a built loader. Steps before batch() work on samples,
/// steps after it on batches.
class HEADRACE_API Pipeline {
 public:
  /// From a source, given as a value or shared (std::shared_ptr).
  static Pipeline from(std::shared_ptr<const Source> source);
  template <class S>
  requires std::derived_from<std::remove_cvref_t<S>, Source>
  static Pipeline from(S&& source) {
    return from(std::shared_ptr<const Source>(
        std::make_shared<std::remove_cvref_t<S>>(std::forward<S>(source))));
  }

  /// Names the loader: in messages, statistics, and in the key of every random draw. Default
  /// "loader".
  Pipeline named(std::string name) &&;
  /// Default Sequential.
  template <OrderLike O>
  Pipeline order(O order) && {
    recipe_.bind_order = [order = std::move(order)](std::int64_t records) {
      return order.bind(records);
    };
    return std::move(*this);
  }
  /// Seed of the operations' draws; default: the order's.
  Pipeline seed(std::uint64_t seed) &&;
  Pipeline ranks(Ranks ranks) &&;
  Pipeline on_bad_sample(BadSamples rule) &&;
  Pipeline batch(Batching batching) &&;
  /// Batches are delivered in memory of that device. Throws DeviceError at build() when it cannot
  /// be used.
  Pipeline to(Device device) &&;

  /// A step; see SampleOperation and BatchOperation.
  template <class Op>
  Pipeline then(Op op, StepOptions options = {}) && {
    if (recipe_.batching) {
      if constexpr (BatchOperation<Op>) {
        recipe_.batch_steps.push_back(detail::make_batch_step(std::move(op), std::move(options)));
      } else {
        misplaced(options.name, "takes a sample but stands after batch(); move it before batch()");
      }
    } else {
      if constexpr (requires { detail::make_sample_step(std::move(op), std::move(options)); }) {
        recipe_.sample_steps.push_back(detail::make_sample_step(std::move(op), std::move(options)));
      } else {
        misplaced(options.name, "takes a batch but stands before batch(); move it after batch()");
      }
    }
    return std::move(*this);
  }

  /// Checks everything and lays out the slabs; throws ConfigError, ResourceError, DeviceError, and
  /// DataError for an epoch without a batch. Starts nothing.
  Loader build(LoaderOptions options = {}) const;

  const detail::Recipe& recipe() const noexcept { return recipe_; }

 private:
  Pipeline() = default;
  [[noreturn]] static void misplaced(const std::string& name, const char* rule);

  detail::Recipe recipe_;
};

}  // namespace headrace::inline v1
