#pragma once

#include <headrace/engine/plan/operation.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {

/// What is done to every picture alike right behind the decoder, as one step of a pipeline, so that
/// a cache can keep its result. The fields stay as they are. Thread-safe as its operations are.
class PreparePictures {
 public:
  /// Adds an operation that leaves fields as they are.
  template <PlainSampleOperation Op>
  void add(Op op) {
    auto shared = std::make_shared<const Op>(std::move(op));
    Step step{.run = [shared](Sample& sample) { (*shared)(sample); }};
    if constexpr (requires(const Schema& in) { shared->working_bytes(in); })
      step.working_bytes = [shared](const Schema& in) { return shared->working_bytes(in); };
    steps_.push_back(std::move(step));
  }
  bool empty() const noexcept { return steps_.empty(); }

  std::string name() const { return "prepare"; }
  std::size_t working_bytes(const Schema& in) const;
  void operator()(Sample& sample) const;

 private:
  struct Step {
    std::function<void(Sample&)> run{};
    std::function<std::size_t(const Schema&)> working_bytes{};
  };
  std::vector<Step> steps_{};
};

}  // namespace headrace::inline v1::app
