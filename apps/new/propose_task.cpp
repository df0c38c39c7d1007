#include <headrace/apps/new/propose_task.h>
#include <headrace/engine/base/printable.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr int most_side_without_gpu = 96;

void propose_data(Proposal& proposal, TaskSettings& task, const DataFacts& facts) {
  TaskData& data = task.data;
  data.train = facts.found.train;
  data.follow_links = facts.follow_links;
  if (facts.found.validation) {
    data.validation = *facts.found.validation;
    proposal.reasons["data.validation"] = "found beside the records to train on";
  }
  if (facts.found.test) {
    data.test = *facts.found.test;
    proposal.reasons["data.test"] = "found beside the records to train on";
  }
  if (facts.splits) {
    proposal.reasons["data.split"] = "not used: the records say themselves what each is for";
  } else if (!facts.found.validation) {
    proposal.reasons["data.split"] =
        facts.groups ? "groups of the records stay whole" : "the records come in one heap";
  }
  if (facts.split_group.empty()) return;
  data.split.group = facts.split_group;
  proposal.reasons["data.split.group"] = facts.of_groups;
}

// The largest share of an epoch that bad ones may be: all of them among those to train on, and
// where classes are drawn alike all in the smallest.
double worst_share(const DataFacts& facts) {
  const auto count = static_cast<double>(facts.bad.size());
  const auto trained = static_cast<double>(std::min(facts.looked_at, facts.records_to_train()));
  if (facts.classes.empty() || facts.several_labels) return count / trained;
  const auto& least =
      *std::ranges::min_element(facts.classes, {}, [](const auto& one) { return one.second; });
  const double smallest = std::max(
      1.0, static_cast<double>(least.second) * trained / static_cast<double>(facts.records));
  return std::max(count / trained,
                  std::min(1.0, count / smallest) / static_cast<double>(facts.classes.size()));
}

// A training would end at the first that it comes to. More than the usual share are refused where
// the configuration is checked. What takes a bad one's place may be bad again, and counts.
void propose_bad_samples(Proposal& proposal, const DataFacts& facts) {
  if (facts.bad.empty() && facts.judged_bad.empty()) return;
  BadSampleSettings& bad = proposal.config->bad_samples;
  bad.rule = BadSamples::Rule::replace;
  proposal.reasons["data.bad_samples.rule"] =
      facts.bad.empty()
          ? fmt::format("{} of the {} of validation and test that were read cannot be",
                        facts.judged_bad.size(), facts.judged_looked_at)
          : fmt::format("{} of the {} that were read cannot be", facts.bad.size(), facts.looked_at);
  if (facts.bad.empty()) return;
  proposal.bad = {
      .count = std::ssize(facts.bad), .of = facts.looked_at, .first = printable(facts.bad.front())};
  const double share =
      static_cast<double>(proposal.bad.count) / static_cast<double>(facts.looked_at);
  const double room = std::min(0.5, std::ceil(3.0 * worst_share(facts) * 20.0) / 20.0);
  if (share > bad.most_share || room <= bad.most_share) return;
  bad.most_share = room;
  proposal.reasons["data.bad_samples.most_share"] =
      "few records or classes: an epoch may come to more of them than they are of all";
}

// Of powers of two the largest that lets an epoch have 20 steps; no more than there are.
std::int64_t batch_for(std::int64_t records, std::int64_t most) {
  std::int64_t batch = std::min<std::int64_t>(4, records);
  while (2 * batch <= most && records / (2 * batch) >= 20)
    batch *= 2;
  return batch;
}

void propose_size(Proposal& proposal, TaskSettings& task, const DataFacts& facts, int most_side) {
  const int most = facts.gpu ? most_side : std::min(most_side, most_side_without_gpu);
  task.image.decode.side = side_for(facts, most);
  proposal.reasons["image.size"] =
      fmt::format("half of the pictures are at least {} pixels on their shorter side{}",
                  std::min(facts.width, facts.height),
                  facts.gpu ? "" : ", and without a GPU larger ones take long");
}

void propose_array(Proposal& proposal, TaskSettings& task, const DataFacts& facts) {
  const ArrayFacts& array = *facts.array;
  task.augment.clear();
  proposal.reasons["augment"] = "vectors have none of their own; mixup, perhaps";
  if (array.frames > 0) {
    task.array.frames = array.frames;
    proposal.reasons["array.frames"] = "the records' lengths differ; this is their median";
  }
  if (facts.vectors()) return;
  const bool real = array.record.dtype == DType::float16 || array.record.dtype == DType::float32 ||
                    array.record.dtype == DType::bfloat16;
  if (real) task.augment = augment_list("[spec_augment]");
  proposal.reasons["augment"] = real ? "usual of spectrograms; cells are masked with the mean"
                                     : "spec_augment needs float16 or float32";
}

// The sides of arrays are those of the records.
void propose_width(Proposal& proposal, TaskSettings& task) {
  task.model.width = 0.5;
  proposal.reasons["model.width"] =
      "without a GPU: a quarter of the arithmetic; weights of others need 1";
}

}  // namespace

void propose_task(Proposal& proposal, TaskSettings& task, const DataFacts& facts, int most_side) {
  propose_data(proposal, task, facts);
  propose_bad_samples(proposal, facts);
  TrainingSettings& training = proposal.config->training;
  const std::int64_t trained = facts.records_to_train();

  if (facts.array)
    propose_array(proposal, task, facts);
  else
    propose_size(proposal, task, facts, most_side);
  if (!facts.array)
    proposal.reasons["model.weights"] =
        "none; with weights of others (a file model.safetensors, downloaded by hand) a few hundred "
        "pictures are often enough";
  else if (!facts.gpu && !facts.vectors())
    propose_width(proposal, task);

  training.batch = batch_for(trained, facts.vectors() ? 256 : facts.gpu ? 64 : 32);
  training.evaluation_batch = 2 * training.batch;
  proposal.reasons["training.batch"] =
      fmt::format("about {} steps an epoch", std::max<std::int64_t>(1, trained / training.batch));
  const std::int64_t steps = std::max<std::int64_t>(1, trained / training.batch);
  const std::int64_t wanted = facts.gpu ? 6000 : facts.array ? 1500 : 1000;
  training.epochs = std::clamp<std::int64_t>(wanted / steps, 10, 60);
  proposal.reasons["training.epochs"] =
      fmt::format("about {} steps in all", training.epochs * steps);
  if (!facts.validates) {
    training.early_stopping = 0;
    proposal.reasons["training.early_stopping"] = "no record is for a validation that could tell";
  }
  if (facts.gpu) {
    training.precision = training::Precision::bf16;
    proposal.reasons["training.precision"] = "there is a GPU";
  }
}

}  // namespace headrace::inline v1::app
