#include <headrace/monitor/advice/detail/rules.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace headrace::inline v1::monitor::detail {
namespace {

struct Driver {
  const char* name;  // in the budget
  const char* shown;
  double share;  // of the steps' wall time
};

// The parts of a step, the largest first.
std::array<Driver, 4> drivers(const StepBudget& budget) {
  const double all = budget.data_wait_s + budget.copy_s + budget.compute_s + budget.other_s;
  const auto share = [&](double part) { return all > 0 ? part / all : 0.0; };
  std::array<Driver, 4> parts{{{"compute_share", "computing", share(budget.compute_s)},
                               {"data_share", "waiting for data", share(budget.data_wait_s)},
                               {"copy_share", "copying", share(budget.copy_s)},
                               {"other_share", "other work", share(budget.other_s)}}};
  std::ranges::stable_sort(parts,
                           [](const Driver& a, const Driver& b) { return a.share > b.share; });
  return parts;
}

// Near 100 % two figures must not look the same.
std::string figure_share(double share) {
  return share >= 0.995 && share < 1.0 ? fmt::format("{:.2f} %", 100.0 * share)
                                       : format_share(share);
}

// Whether it finds of the classes, each counted alike, more than who always says the same one.
bool tells_classes_apart(const RunFacts::Learning& learning, const AdviceThresholds& limits) {
  if (learning.mean_recall < 0 || learning.classes < 2) return false;
  const double constant = 1.0 / static_cast<double>(learning.classes);
  return learning.mean_recall >= constant + limits.above_majority * (1.0 - constant);
}

std::string left_without(const RunFacts& facts, double share) {
  return format_seconds(facts.seconds_left * (1.0 - share));
}

// The rest, beside what is left of the time.
Advice late(const RunFacts& facts) {
  const bool used_up = facts.seconds_wanted == 0.0;
  const std::string left = format_seconds(facts.seconds_left);
  const std::string wanted = format_seconds(facts.seconds_wanted);
  Advice advice{.rule = "time-budget",
                .severity = Severity::warning,
                .verdict = used_up
                               ? fmt::format("the rest of the run takes {}, and the time wanted is "
                                             "used up",
                                             left)
                               : fmt::format("the rest of the run takes {}, {} of the time wanted "
                                             "are left",
                                             left, wanted)};
  // Of all of it: what is left alone gets worse by itself.
  advice.weight = used_up ? 1.0
                          : 1.0 - (facts.seconds_passed + facts.seconds_wanted) /
                                      (facts.seconds_passed + facts.seconds_left);
  advice.evidence = {
      seconds_of("seconds_left", "left", facts.seconds_left),
      {"seconds_wanted", facts.seconds_wanted, "wanted " + (used_up ? "none" : wanted)}};
  for (const Driver& part : drivers(facts.budget))
    if (part.share > 0) advice.evidence.push_back(share_of(part.name, part.shown, part.share));
  if (advice.evidence.size() < 3)
    advice.evidence.push_back(count_of("epoch", "epoch", static_cast<double>(facts.epoch)));
  return advice;
}

// As many in each stage as would have the whole run in time.
void fewer_epochs(const RunFacts& facts, double over, Advice& advice) {
  const std::int64_t of_stage = facts.epochs - facts.epoch;
  const std::int64_t ahead =
      std::max<std::int64_t>(facts.epochs_left >= 0 ? facts.epochs_left : of_stage, 1);
  const auto fit = static_cast<std::int64_t>(std::floor(static_cast<double>(ahead) / over));
  const std::int64_t fewer = (facts.epoch + fit) * facts.epochs / (facts.epoch + ahead);
  const bool room =
      facts.seconds_wanted > 0.0 && fewer >= facts.settings.least_epochs && fewer < facts.epochs;
  if (!room) {
    advice.action = "make the steps quicker, or give the run more time";
    return;
  }
  advice.action = "train as many epochs as fit, or make the steps quicker";
  if (!has_key(facts.settings, "training.epochs")) return;
  advice.setting = "training.epochs";
  advice.old_value = fmt::format("{}", facts.epochs);
  advice.new_value = fmt::format("{}", fewer);
}

}  // namespace

RuleAdvice no_batch(const RunFacts& facts, const AdviceThresholds& limits) {
  if (!facts.records || facts.records->batch <= 0) return {};
  const RecordFacts& records = *facts.records;
  const std::int64_t whole = records.records / records.batch;
  const bool rest = !records.drop_last && records.records % records.batch != 0;
  const std::int64_t batches = whole + (rest ? 1 : 0);
  if (static_cast<double>(batches) >= limits.least_batches) return {};
  Advice advice{.rule = "no-batch",
                .severity = Severity::error,
                .verdict = records.records == 0 ? "there is no record: an epoch has no batch"
                                                : "there are fewer records than a batch takes, and "
                                                  "what does not fill one is left out",
                .weight = 1.0};
  advice.evidence = {count_of("records", "records", static_cast<double>(records.records)),
                     count_of("batch", "batch", static_cast<double>(records.batch)),
                     count_of("batches", "batches an epoch", static_cast<double>(batches))};
  advice.setting = batch_key(facts.settings);
  advice.old_value = fmt::format("{}", records.batch);
  advice.new_value = fmt::format("{}", std::max<std::int64_t>(records.records, 1));
  advice.action = "take smaller batches, or more records";
  advice.effect = fmt::format("batches an epoch {} -> {}", batches, records.records > 0 ? 1 : 0);
  advice.check = "the run starts";
  return advice;
}

RuleAdvice majority_class(const RunFacts& facts, const AdviceThresholds& limits) {
  if (!facts.learning || facts.learning->accuracy < 0 || facts.learning->majority < 0 ||
      facts.learning->majority >= 1 || static_cast<double>(facts.epoch) < limits.epochs_to_learn)
    return {};
  const RunFacts::Learning& learning = *facts.learning;
  // Of what the most frequent class leaves to learn.
  const double learnt = (learning.accuracy - learning.majority) / (1.0 - learning.majority);
  if (learnt >= limits.above_majority || tells_classes_apart(learning, limits)) return {};
  const std::string figure = learning.figure.empty() ? "accuracy" : learning.figure;
  Advice advice{.rule = "majority-class",
                .severity = Severity::warning,
                .verdict =
                    "it has learnt no more than the most frequent class: look at labels and "
                    "learning rate, not at the speed",
                .weight = 0.5};
  const std::string reached = fmt::format("{} {}", figure, figure_share(learning.accuracy));
  advice.evidence = {
      {"accuracy", learning.accuracy, reached},
      {"majority", learning.majority, "most frequent class " + figure_share(learning.majority)},
      count_of("epoch", "epoch", static_cast<double>(facts.epoch))};
  if (learning.mean_recall >= 0)
    advice.evidence.push_back(share_of("mean_recall", "mean recall", learning.mean_recall));
  advice.setting = "headrace inspect --sheet sheet.png";
  advice.old_value = reached;
  advice.new_value = fmt::format("above {}", figure_share(learning.majority));
  advice.action = "look at samples with their labels, as the network gets them";
  advice.effect = fmt::format(
      "{} -> above {}", reached,
      figure_share(learning.majority + limits.above_majority * (1.0 - learning.majority)));
  advice.check = figure + " of the next epochs";
  return advice;
}

RuleAdvice time_budget(const RunFacts& facts, const AdviceThresholds& limits) {
  if (!(facts.seconds_left > 0) || !(facts.seconds_wanted >= 0)) return {};
  const double over = facts.seconds_left / facts.seconds_wanted;  // infinite once it is used up
  if (!(over > limits.time_budget)) return {};
  Advice advice = late(facts);
  const double stall = facts.budget.data_stall_fraction();
  if (facts.settings.precision == "fp32" && facts.budget.on_gpu && stall < limits.moderate_stall &&
      has_key(facts.settings, "training.precision")) {
    advice.setting = "training.precision";
    advice.old_value = "fp32";
    advice.new_value = "bf16";
    advice.action = "compute in bf16 (results change a little)";
  } else {
    fewer_epochs(facts, over, advice);
  }
  const Driver most = drivers(facts.budget).front();
  advice.effect = fmt::format("left {} -> {} with no wait for data, {} with {} halved",
                              format_seconds(facts.seconds_left), left_without(facts, stall),
                              left_without(facts, most.share / 2), most.shown);
  advice.check = "the time left after the next epoch";
  return advice;
}

}  // namespace headrace::inline v1::monitor::detail
