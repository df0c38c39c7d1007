#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/base/literals.h>
#include <headrace/engine/plan/options.h>
#include <headrace/engine/plan/recipe.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace headrace::inline v1 {

class Loader;

/// How a loader is made, a plain value: copy it, change it, build it more than once. Nothing is
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
  /// Default: this process takes all rows.
  Pipeline ranks(Ranks ranks) &&;
  /// Default: a bad sample ends the epoch.
  Pipeline on_bad_sample(BadSamples rule) &&;
  /// Must be given once; steps after it take batches.
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

  /// The same batches of `rows` rows made of nothing, of an epoch of `samples` in a row, without a
  /// look at the source's records: what steps on batches and a trainer take can be measured before
  /// data are read. Every value is zero, but for the first of integers and flags `[n]`, which is
  /// one; padded and ragged fields have their largest shapes. Throws ConfigError where batch() was
  /// not called.
  Pipeline with_placeholders(std::int64_t rows, std::int64_t samples) const;

  /// Checks everything and lays out the slabs; throws ConfigError, ResourceError, DeviceError, and
  /// DataError for an epoch without a batch. Starts nothing.
  Loader build(LoaderOptions options = {}) const;

 private:
  Pipeline() = default;
  [[noreturn]] static void misplaced(const std::string& name, const char* rule);

  detail::Recipe recipe_;
};

}  // namespace headrace::inline v1
