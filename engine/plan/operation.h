#pragma once

#include <headrace/engine/base/random.h>
#include <headrace/engine/batch/batch.h>
#include <headrace/engine/plan/device_work.h>
#include <headrace/engine/sample/sample.h>

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace headrace::inline v1 {

/// An operation on a sample: any const callable, `op(sample)` or, when it is random, `op(sample,
/// random)`. Many threads call one object at once. No base class, no registry. What an operation
/// may add, each optional:
/// - `Schema schema(const Schema& in) const`: what it makes of the fields, checked at build();
/// - `std::string name() const`: keys its randomness and its statistics;
/// - `std::size_t working_bytes(const Schema& in) const`: memory it needs a thread, for the
/// forecast;
/// - `static constexpr bool decodes = true`: it belongs to the stage "decode";
/// - `std::optional<DeviceWork> device_work() const`: what it leaves to the whole batch.
template <class Op>
concept PlainSampleOperation = std::invocable<const Op&, Sample&>;
template <class Op>
concept RandomSampleOperation = std::invocable<const Op&, Sample&, Random&>;
template <class Op>
concept SampleOperation = PlainSampleOperation<Op> || RandomSampleOperation<Op>;

/// An operation on a batch: any const callable `op(batch, stream)` or `op(batch)`, run once a batch
/// in the transfer stage, in batch order. It may say `name()` and `schema(in)` too: the fields it
/// makes then count in the forecast.
template <class Op>
concept BatchOperation =
    std::invocable<const Op&, Batch&, Stream> || std::invocable<const Op&, Batch&>;

/// How a step takes part in the graph.
struct StepOptions {
  /// For statistics, errors and the random key; the operation's own name when empty.
  std::string name{};
  /// Samples worked on at once; 0: every worker. A step with a limit is a node of its own.
  int limit = 0;
};

/// What per_worker() returns: an operation with state of its own for each worker.
template <class Factory>
struct PerWorker {
  Factory factory;
};

/// A step that needs state of its own for every thread: `factory()` returns the operation, which
/// may then be mutable. One object is made for each worker, on first use.
template <class Factory>
PerWorker<Factory> per_worker(Factory factory) {
  return {std::move(factory)};
}

namespace detail {

/// A sample step with its type erased.
struct SampleStep {
  std::string name{};
  int limit = 0;
  bool decodes = false;
  bool random = false;
  /// `worker` is the slot of the thread: below the number of workers and I/O threads together.
  std::function<void(Sample&, Random&, int worker)> run{};
  std::function<Schema(const Schema&)> schema{};
  std::function<std::size_t(const Schema&)> working_bytes{};
  std::optional<DeviceWork> device_work{};
};

/// A batch step with its type erased.
struct BatchStep {
  std::string name{};
  std::function<void(Batch&, Stream)> run{};
  std::function<Schema(const Schema&)> schema{};
  std::optional<DeviceWork> work{};  ///< gives `run`, for each loader its own
};

template <class Op>
void describe_step(const Op& op, const std::shared_ptr<const Op>& shared, SampleStep& step) {
  if constexpr (requires {
                  { op.name() } -> std::convertible_to<std::string>;
                }) {
    if (step.name.empty()) step.name = op.name();
  }
  if constexpr (requires { Op::decodes; }) step.decodes = Op::decodes;
  if constexpr (requires(const Schema& in) {
                  { op.schema(in) } -> std::convertible_to<Schema>;
                }) {
    step.schema = [shared](const Schema& in) { return shared->schema(in); };
  }
  if constexpr (requires(const Schema& in) {
                  { op.working_bytes(in) } -> std::convertible_to<std::size_t>;
                }) {
    step.working_bytes = [shared](const Schema& in) { return shared->working_bytes(in); };
  }
  if constexpr (requires {
                  { op.device_work() } -> std::convertible_to<std::optional<DeviceWork>>;
                }) {
    step.device_work = op.device_work();
  }
  if (step.name.empty()) step.name = step.decodes ? "decode" : "augment";
}

template <class Op>
void call_step(Op& op, Sample& sample, Random& random) {
  if constexpr (std::invocable<Op&, Sample&, Random&>) {
    op(sample, random);
  } else {
    op(sample);
  }
}

template <SampleOperation Op>
SampleStep make_sample_step(Op op, StepOptions options) {
  auto shared = std::make_shared<const Op>(std::move(op));
  SampleStep step{
      .name = std::move(options.name), .limit = options.limit, .random = RandomSampleOperation<Op>};
  describe_step(*shared, shared, step);
  step.run = [shared](Sample& sample, Random& random, int) { call_step(*shared, sample, random); };
  return step;
}

/// One operation object for each worker, made on first use by the worker itself.
HEADRACE_API std::function<void(Sample&, Random&, int)> per_worker_step(
    std::function<std::function<void(Sample&, Random&)>()> make);

template <class Factory>
SampleStep make_sample_step(PerWorker<Factory> wanted, StepOptions options) {
  using Op = std::invoke_result_t<const Factory&>;
  auto prototype = std::make_shared<const Op>(std::as_const(wanted.factory)());
  SampleStep step{.name = std::move(options.name),
                  .limit = options.limit,
                  .random = std::invocable<Op&, Sample&, Random&>};
  describe_step(*prototype, prototype, step);
  step.run = per_worker_step([factory = std::move(wanted.factory)] {
    auto op = std::make_shared<Op>(factory());
    return [op](Sample& sample, Random& random) { call_step(*op, sample, random); };
  });
  return step;
}

template <BatchOperation Op>
BatchStep make_batch_step(Op op, StepOptions options) {
  auto shared = std::make_shared<const Op>(std::move(op));
  if (options.limit != 0) {
    throw ConfigError("[" + options.name + "] a batch step runs one batch at a time, got limit " +
                      std::to_string(options.limit) + "; leave the limit out");
  }
  BatchStep step{.name = std::move(options.name)};
  if constexpr (requires {
                  { shared->name() } -> std::convertible_to<std::string>;
                }) {
    if (step.name.empty()) step.name = shared->name();
  }
  if constexpr (requires(const Schema& in) {
                  { shared->schema(in) } -> std::convertible_to<Schema>;
                }) {
    step.schema = [shared](const Schema& in) { return shared->schema(in); };
  }
  if (step.name.empty()) step.name = "batch step";
  step.run = [shared](Batch& batch, Stream stream) {
    if constexpr (std::invocable<const Op&, Batch&, Stream>) {
      (*shared)(batch, stream);
    } else {
      (*shared)(batch);
    }
  };
  return step;
}

}  // namespace detail
}  // namespace headrace::inline v1
