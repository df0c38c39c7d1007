#include <headrace/apps/task/topology_term_torch.h>
#include <headrace/engine/base/error.h>

#include <utility>
#include <variant>

#include <ATen/ops/zeros.h>

namespace headrace::inline v1::app {
namespace {

constexpr const char* betti_field = "betti";

const at::Tensor& betti_of(const training::Example& example, const LossEntry& entry) {
  const auto found = example.targets.find(betti_field);
  if (found != example.targets.end()) return found->second;
  throw ConfigError("[config] " + entry.place.text() +
                    ": loss topology: there must be Betti numbers of the target; put betti_targets "
                    "at the end of the list augment");
}

void require_main(const LossEntry& entry) {
  if (entry.on == "main") return;
  throw ConfigError("[config] " + entry.place.text() +
                    ": loss topology: on must be main, of whose target the Betti numbers are, got "
                    "\"" +
                    entry.on + '"');
}

}  // namespace

bool is_due(const TopologyTerm& term, const LossContext& context) {
  return context.epoch >= term.after && context.step % term.every == 0;
}

std::shared_ptr<models::TopologyLoss> make_topology(const LossList& list,
                                                    std::optional<std::int64_t> ignore) {
  for (const LossEntry& entry : list)
    if (const auto* term = std::get_if<TopologyTerm>(&entry.term))
      return std::make_shared<models::TopologyLoss>(
          models::TopologyLossOptions{.side = term->side, .ignore = ignore},
          models::TopologyWorkersOptions{.threads = term->threads});
  return nullptr;
}

TopologyTerms::TopologyTerms(const LossList& list, const training::Output& output,
                             const training::Example& example, const LossContext& context)
    : loss_(context.topology) {
  for (const LossEntry& entry : list) {
    const auto* term = std::get_if<TopologyTerm>(&entry.term);
    if (term == nullptr) continue;
    require_main(entry);
    const at::Tensor& betti = betti_of(example, entry);
    if (!none_.defined())
      none_ =
          at::zeros({}, output.main.options().dtype(
                            output.main.scalar_type() == at::kDouble ? at::kDouble : at::kFloat));
    Begun& begun = begun_.emplace_back(Begun{.factor = entry.factor});
    if (!loss_ || !is_due(*term, context)) continue;
    begun.pending = loss_->begin(
        output.main,
        {.betti = betti,
         .labels = example.targets.at(context.target),
         .of_samples = example.present.defined() ? example.present.to(at::kFloat) : at::Tensor()});
  }
}

void TopologyTerms::add_to(std::vector<training::Term>& terms) {
  for (Begun& begun : begun_) {
    models::MeanLoss made{.value = none_, .weight = none_};
    if (begun.pending) made = loss_->finish(std::move(*begun.pending));
    terms.push_back(
        {.name = "topology", .value = made.value, .factor = begun.factor, .weight = made.weight});
  }
}

}  // namespace headrace::inline v1::app
