#pragma once

#include <headrace/apps/task/loss_torch.h>

#include <memory>
#include <optional>
#include <vector>

namespace headrace::inline v1::app {

/// Whether a step has the term: every so many, after so many epochs.
bool is_due(const TopologyTerm& term, const LossContext& context);

/// What the topology terms of such a configuration need beside the steps; null where there is none.
std::shared_ptr<models::TopologyLoss> make_topology(const LossList& list,
                                                    std::optional<std::int64_t> ignore);

/// The topology terms of one step: begun where this is made, before the others, and waited for
/// where they are asked for.
class TopologyTerms {
 public:
  /// Throws ConfigError for a term on another output than main, and where the list augment has not
  /// made the field "betti".
  TopologyTerms(const LossList& list, const training::Output& output,
                const training::Example& example, const LossContext& context);

  /// Adds them; of those that this step has not, 0 of no weight.
  void add_to(std::vector<training::Term>& terms);

 private:
  struct Begun {
    double factor = 1.0;
    std::optional<models::TopologyPending> pending{};
  };

  std::shared_ptr<models::TopologyLoss> loss_;
  at::Tensor none_;  // 0, in the type of the others
  std::vector<Begun> begun_;
};

}  // namespace headrace::inline v1::app
