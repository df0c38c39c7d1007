#pragma once

#include <headrace/engine/base/random.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/training/detail/batch_rows.h>
#include <headrace/training/evaluation/evaluation.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace headrace::inline v1::training::detail {

// One pass of a loader's data through networks, whose cases somebody looks at. Each batch goes
// through all of them before the next one is asked for. Where memory runs out in it, the rows at
// hand are asked again in halves.
class EvaluationPass {
 public:
  // The same cases as each network has them, in the order of the voters. Where it throws it must
  // have counted none of them, or know who has: it is given them again.
  using Look = std::function<void(std::span<Cases> of_each, const Moment& moment)>;
  struct Looks {
    std::string who = {};         // "the validation"
    std::vector<Look> each = {};  // what is done with cases, in this order
  };

  EvaluationPass(std::span<const Voter> voters, const EvaluationOptions& options, Looks looks);

  // Whether the pass came to its end. Throws ConfigError where networks have made other cases of a
  // batch than the first, ResourceError where one row is too much.
  bool run(Loader& loader, const std::stop_token& stop);

  // What a pass that took `seconds` until all was counted would have taken with all batches.
  double full_seconds(double seconds) const;

 private:
  // What one voter has made of the batch at hand.
  struct Voice {
    std::unique_ptr<Inference> inference = {};
    std::int64_t asked = 0;          // rows of the batch that its inference has taken in
    std::size_t made = 0;            // cases of the batch
    std::deque<Cases> waiting = {};  // of these, which nobody has looked at
  };

  bool run_batches(Loader& loader, const std::stop_token& stop);
  void see(const Batch& batch);
  void see_rows(const Batch& batch, BatchRows rows);
  void ask_all(const Batch& batch, BatchRows rows);
  void take_fewer(BatchRows rows, const std::string& lack);
  std::vector<Cases> ask(std::size_t number, const Batch& batch, BatchRows rows);
  void finish();
  void show();
  void require_same_cases() const;
  std::string report_of(const std::string& lack) const;

  std::span<const Voter> voters_;
  const EvaluationOptions& options_;
  Looks looks_;
  std::vector<std::int64_t> looked_;  // by each look: cases
  Random random_;
  Moment moment_;
  std::vector<Voice> voices_;
  std::int64_t most_rows_ = std::numeric_limits<std::int64_t>::max();  // at once
  std::int64_t cases_ = 0;
  std::int64_t seen_ = 0;       // batches
  std::int64_t all_ = 0;        // that the loader has
  double first_seconds_ = 0.0;  // until the first was counted
};

}  // namespace headrace::inline v1::training::detail
