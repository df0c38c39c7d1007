#include <headrace/apps/jobs/propose_task.h>
#include <headrace/apps/jobs/segmentation/config.h>
#include <headrace/apps/jobs/segmentation/propose.h>

#include <utility>

namespace headrace::inline v1::app {

Proposal propose_segmentation(const DataFacts& facts) {
  auto config = std::make_shared<SegmentationConfig>();
  Proposal proposal{.config = config};
  propose_task(proposal, config->task, facts, 384);
  Reasons& reasons = proposal.reasons;
  config->training.batch = std::min<std::int64_t>(config->training.batch, 16);
  config->training.evaluation_batch = config->training.batch;
  reasons["training.batch"] = "a pixel is an example: small batches have enough of them";
  config->task.model.encoder = facts.gpu ? "resnet34" : "resnet18";
  reasons["model.encoder"] = facts.gpu ? "a GPU is there for it" : "the smallest, there is no GPU";
  config->mask = facts.mask;
  reasons["mask.classes"] =
      "values that the masks hold; give them names, and put values that count nowhere into ignore";
  return proposal;
}

}  // namespace headrace::inline v1::app
