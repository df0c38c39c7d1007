#pragma once

#include <headrace/engine/base/random.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/training/evaluation.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

namespace headrace::inline v1::training::detail {

// One pass of a loader's data through networks, whose cases somebody looks at. Each batch goes
// through all of them before the next one is asked for.
class EvaluationPass {
 public:
  // The same cases as each network has them, in the order of the voters.
  using Look = std::function<void(std::span<Cases> of_each, const Moment& moment)>;

  EvaluationPass(std::span<const Voter> voters, const EvaluationOptions& options, Look look);

  // Whether the pass came to its end. Throws ConfigError where networks have made other cases of a
  // batch than the first.
  bool run(Loader& loader, const std::stop_token& stop);

  // What a pass that took `seconds` until all was counted would have taken with all batches.
  double full_seconds(double seconds) const;

 private:
  void see(const Batch& batch);
  std::vector<Cases> ask(std::size_t number, const Batch& batch);
  void show(std::vector<std::vector<Cases>> of_each);

  std::span<const Voter> voters_;
  const EvaluationOptions& options_;
  Look look_;
  Random random_;
  Moment moment_;
  std::vector<std::unique_ptr<Inference>> inferences_;
  std::int64_t cases_ = 0;
  std::int64_t seen_ = 0;       // batches
  std::int64_t all_ = 0;        // that the loader has
  double first_seconds_ = 0.0;  // until the first was counted
};

}  // namespace headrace::inline v1::training::detail
