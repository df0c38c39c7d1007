#include <headrace/apps/memory/memory_room.h>
#include <headrace/apps/run/run_folder.h>
#include <headrace/apps/terminal/utc.h>
#include <headrace/apps/view/run_adviser.h>
#include <headrace/apps/view/run_voice.h>
#include <headrace/monitor/memory/process_memory.h>
#include <headrace/monitor/stage_load.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <nlohmann/json.hpp>
#include <spdlog/logger.h>

namespace headrace::inline v1::app {
namespace {

constexpr const char* accuracy = "accuracy";
constexpr int rule_of_limits = 20;

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double share(std::int64_t part, std::int64_t all) {
  return static_cast<double>(part) / static_cast<double>(all);
}

// Without a sample: what the process itself measured of it.
std::optional<monitor::MachineFacts> machine_of(const AdvisedEpoch& epoch) {
  if (epoch.system.machine || epoch.usage.interval_s <= 0.0) return epoch.system.machine;
  return monitor::MachineFacts{.cores = monitor::usable_cores(),
                               .machine_share = epoch.usage.machine_share,
                               .process_share = epoch.usage.process_share,
                               .io_pressure = epoch.usage.io_pressure_share.value_or(-1.0)};
}

}  // namespace

std::optional<monitor::RunFacts::Learning> learning_facts(const EpochFacts& epoch) {
  const double reached = figure(epoch.validation, accuracy);
  if (!std::isfinite(reached)) return std::nullopt;
  std::int64_t all = 0;
  std::int64_t most = 0;
  std::int64_t classes = 0;
  double recalls = 0.0;
  const auto& counts = epoch.confusion.counts;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::int64_t cases = std::accumulate(counts[i].begin(), counts[i].end(), std::int64_t{0});
    if (cases == 0) continue;
    all += cases;
    most = std::max(most, cases);
    ++classes;
    if (i < counts[i].size()) recalls += share(counts[i][i], cases);
  }
  if (all == 0) return std::nullopt;
  return monitor::RunFacts::Learning{.accuracy = reached,
                                     .majority = share(most, all),
                                     .mean_recall = recalls / static_cast<double>(classes),
                                     .classes = classes,
                                     .figure = accuracy};
}

std::vector<monitor::Advice> RunAdviser::on_start() {
  std::vector<monitor::Advice> all = monitor::advise({.files = limits(std::nullopt)});
  drop_told_limits(all);
  return all;
}

void RunAdviser::begin_stage(const AdvisedStage& stage) {
  epochs_before_ += stage_.epochs;
  stage_ = stage;
  adviser_.begin_stage();
  of_phases_ = {};
  epoch_seconds_.clear();
  from_storage_ = 0.0;
  window_.begin();
  reads_.reset();
  threads_before_.reset();
  threads_.reset();
}

void RunAdviser::begin_training_part() {
  threads_before_ = monitor::read_loader_threads();
}

void RunAdviser::on_train_epoch_end() {
  threads_ = monitor::loader_threads_since(std::exchange(threads_before_, std::nullopt));
  reads_ = window_.facts();
}

void RunAdviser::on_phase(const PhaseFacts& phase, const monitor::MemoryJudge& judge) {
  of_phases_.limits = phase.limits;
  held_ = phase.memory.process.held();
  if (phase.phase != RunPhase::training) return;
  fill(of_phases_, phase.memory);
  of_phases_.tensor_growth = monitor::growth_facts(judge.tensor_growth());
  of_phases_.process_growth = monitor::growth_facts(judge.process_growth(), judge.owner());
  const std::uint64_t process = phase.memory.process_peak();
  if (auto& tensors = of_phases_.tensor_growth)
    tensors->most = phase.memory.on_gpu ? phase.memory.peak : process;
  if (auto& beside = of_phases_.process_growth) beside->most = process;
}

monitor::RunFacts RunAdviser::facts_of(const AdvisedEpoch& epoch) {
  monitor::RunFacts facts = std::exchange(of_phases_, {});
  facts.epoch = epoch.epoch.epoch + 1;
  facts.epochs = epoch.epochs;
  facts.budget = epoch.budget;
  facts.verdict = epoch.verdict;
  fill(facts, epoch.stats);
  facts.threads = threads_;
  facts.machine = machine_of(epoch);
  if (facts.machine) add_room(*facts.machine, facts.limits.process, held_);
  facts.gpu = epoch.system.gpu;
  facts.gpu_wanted = options_.on_gpu || (!options_.no_gpu.empty() && facts.gpu);
  facts.no_gpu = options_.no_gpu;
  facts.settings = settings();
  add_sizes(epoch.verdict, facts.settings);
  if (stage_.records > 0) facts.records = monitor::RecordFacts{.records = stage_.records};
  facts.files = limits(facts.page_locked);
  if (facts.machine) from_storage_ += facts.machine->read_from_disk_per_s * epoch.stats.elapsed_s;
  facts.bytes_from_storage = from_storage_;
  facts.reads = std::exchange(reads_, std::nullopt);
  facts.learning = learning_facts(epoch.epoch);
  facts.epoch_seconds = epoch_seconds_;
  add_time(facts);
  return facts;
}

// What was said before the first stage is not said again.
void RunAdviser::drop_told_limits(std::vector<monitor::Advice>& all) {
  std::erase_if(all, [&](const monitor::Advice& advice) {
    return advice.number == rule_of_limits && !limits_said_.should_say(advice);
  });
}

// NVIDIA's driver locks pages past the limit: it is looked at where locking failed.
std::optional<monitor::RunFacts::Files> RunAdviser::limits(std::optional<bool> page_locked) const {
  auto files = monitor::read_file_limits(
      {.locked = page_locked == std::optional(false) ? stage_.slab_bytes : 0});
  if (files) files->needed = std::max(files->needed, options_.files_needed);
  return files;
}

void RunAdviser::add_sizes(const monitor::Verdict& verdict, monitor::SettingFacts& settings) {
  const bool waits = verdict.data_stall_fraction >= monitor::AdviceThresholds().moderate_stall &&
                     !verdict.stages.empty();
  const bool reads = waits && (verdict.stages.front().role == monitor::StageRole::io ||
                               verdict.stages.front().stage == "read");
  const bool decodes = waits && verdict.stages.front().stage == "decode";
  if (!data_bytes_ && reads && options_.data_bytes) data_bytes_ = options_.data_bytes();
  if (!decoded_bytes_ && (reads || decodes) && settings.can_cache && settings.may_cache() &&
      options_.decoded_bytes)
    decoded_bytes_ = options_.decoded_bytes();
  settings.data_bytes = data_bytes_.value_or(0);
  settings.decoded_bytes = decoded_bytes_.value_or(0);
}

const monitor::SettingFacts& RunAdviser::settings() const {
  const auto number = static_cast<std::size_t>(stage_.number);
  return number < options_.stage_settings.size() ? options_.stage_settings[number]
                                                 : options_.settings;
}

// Later stages are taken to be as quick as this one.
void RunAdviser::add_time(monitor::RunFacts& facts) const {
  const std::int64_t later =
      std::max<std::int64_t>(options_.epochs - epochs_before_ - facts.epochs, 0);
  facts.epochs_left = facts.epochs - facts.epoch + later;
  facts.seconds_left = mean_of(epoch_seconds_) * static_cast<double>(facts.epochs_left);
  if (!options_.seconds_wanted) return;
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - options_.began;
  facts.seconds_passed = passed.count();
  facts.seconds_wanted = std::max(*options_.seconds_wanted - passed.count(), 0.0);
}

std::vector<monitor::Advice> RunAdviser::on_epoch(const AdvisedEpoch& epoch) {
  epoch_seconds_.push_back(epoch.epoch.seconds);
  const monitor::RunFacts facts = facts_of(epoch);
  window_.begin();
  std::vector<monitor::Advice> all = adviser_.look(facts);
  drop_told_limits(all);
  return all;
}

monitor::Verdict epoch_verdict(const monitor::StepBudget& budget, const LoaderStats& stats,
                               const monitor::CpuUsage& usage) {
  return monitor::judge(budget, monitor::loader_load(stats),
                        {.usable_cores = monitor::usable_cores(),
                         .process_cpu_share = usage.process_share,
                         .io_pressure_share = usage.io_pressure_share.value_or(-1.0)});
}

RunAdvice::RunAdvice(RunFolder& folder, RunVoice& voice, RunAdviserOptions options)
    : folder_(folder), voice_(voice), adviser_(std::move(options)) {}

void RunAdvice::say(const monitor::Verdict& verdict) {
  std::string key = std::string(to_string(verdict.bound)) + verdict.bottleneck;
  const bool new_one = key != last_verdict_;
  last_verdict_ = std::move(key);
  (new_one ? voice_.log() : voice_.file_log()).info(verdict.sentence());
  voice_.event("verdict", {{"verdict", std::string(to_string(verdict.bound))},
                           {"bottleneck", verdict.bottleneck},
                           {"said", verdict.sentence()}});
}

void RunAdvice::say(const std::vector<monitor::Advice>& all) {
  for (const monitor::Advice& advice : all) {
    voice_.log().log(
        advice.severity >= monitor::Severity::warning ? spdlog::level::warn : spdlog::level::info,
        advice.line());
    auto line = nlohmann::ordered_json::parse(advice.json());
    line["time"] = utc_time();
    folder_.advice().write_json(line.dump());
  }
}

void RunAdvice::say(const std::vector<monitor::MemoryRemark>& remarks) {
  for (const monitor::MemoryRemark& remark : remarks) {
    voice_.log().warn(remark.sentence);
    folder_.advice().write({{"rule", remark.rule},
                            {"severity", std::string(to_string(monitor::Severity::warning))},
                            {"verdict", remark.sentence},
                            {"time", utc_time()}});
  }
}

}  // namespace headrace::inline v1::app
