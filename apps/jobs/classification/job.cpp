#include <headrace/apps/jobs/classification/config.h>
#include <headrace/apps/learn/picture_job.h>
#include <headrace/apps/new/proposal.h>
#include <headrace/apps/new/propose_task.h>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

// A configuration for these data on this machine, and why.
Proposal propose_classification(const DataFacts& facts) {
  auto config = std::make_shared<ClassificationConfig>();
  Proposal proposal{.config = config};
  TaskSettings& task = config->task;
  propose_task(proposal, task, facts, 224);
  Reasons& reasons = proposal.reasons;
  if (facts.vectors()) {
    task.model.name = "mlp";
    reasons["model.name"] = "records are vectors";
  } else {
    task.model.name = facts.gpu ? "resnet50" : "resnet18";
    reasons["model.name"] = facts.gpu ? "a GPU is there for it" : "the smallest, there is no GPU";
  }
  if (facts.several_labels) {
    task.loss = {LossEntry{.term = BinaryCrossEntropyTerm{}}};
    reasons["loss"] = "a record may have several classes";
    task.predict.threshold = FittedThreshold{};
    reasons["predict"] = "every class has a threshold of its own";
  }
  const double ratio = imbalance_of(facts);
  if (ratio > 3.0) {
    if (facts.several_labels)
      task.imbalance.weights = LossWeights::inverse;
    else
      task.imbalance.sampler = Sampler::balanced;
    reasons["imbalance"] =
        fmt::format("the largest class has {:.1f} times the records of the smallest", ratio);
  }
  reasons["selected_by"] = "counts every class alike";
  return proposal;
}

}  // namespace

LoaderJob ClassificationConfig::loader_job() const {
  return picture_loader_job({.config = *this});
}

std::vector<DataPart> ClassificationConfig::data_parts() const {
  return picture_data_parts({.config = *this});
}

void ClassificationConfig::check_data() const {
  check_picture_data({.config = *this});
}

Job classification_job() {
  return {.name = "classification",
          .help = "classes of pictures, features or spectrograms of one's own",
          .config = [] { return std::make_shared<ClassificationConfig>(); },
          .propose = propose_classification};
}

}  // namespace headrace::inline v1::app
