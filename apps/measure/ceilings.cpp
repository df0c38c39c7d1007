#include <headrace/apps/measure/ceilings.h>
#include <headrace/monitor/advice/adviser.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

// The process that measures has more files open than the one that asks.
std::optional<monitor::RunFacts::Files> files_of(const PaceResult& pace,
                                                 const CeilingFacts& facts) {
  std::optional<monitor::RunFacts::Files> files = facts.files;
  if (files) files->open = std::max(files->open, pace.open_files);
  return files;
}

}  // namespace

monitor::RunFacts pace_facts(const PaceResult& pace, const CeilingFacts& facts) {
  monitor::RunFacts window{.epoch = 1, .epochs = 1};
  window.budget = pace.budget;
  window.verdict = pace.verdict();
  fill(window, pace.stats);
  window.threads = pace.threads;
  window.machine = pace.machine();
  window.machine->memory_room = facts.memory_room - std::min(facts.memory_room, pace.peak_held);
  window.machine->shared_room = facts.shared_room;
  window.gpu = pace.gpu;
  window.reads = pace.reads;
  window.gpu_wanted = pace.budget.on_gpu;
  window.settings = facts.settings;
  if (pace.samples_per_epoch > 0)
    window.records = monitor::RecordFacts{.records = pace.samples_per_epoch};
  window.files = files_of(pace, facts);
  return window;
}

namespace {

using monitor::format_seconds;
using monitor::Severity;

// A step that is slower beside a loader for which it does not wait: more than others on the machine
// make of it, on cores that are in use.
constexpr double least_crowding = 0.15;
constexpr double full_cores = 0.7;

bool has_pace(const PaceResult& result) {
  return result.failed.empty() && result.samples_per_s() > 0.0;
}

// Seconds of a step of `slow` beyond one of `fast`, of as many samples.
double beyond(const PaceResult& slow, const PaceResult& fast) {
  const double step_s = slow.step_s();
  return std::max(0.0, step_s - step_s * slow.samples_per_s() / fast.samples_per_s());
}

double wait_s(const PaceResult& result) {
  return result.budget.data_wait_s / static_cast<double>(result.budget.steps);
}

// For a stage: bursts below a full queue are the consumer's own.
bool waits(const monitor::Verdict& verdict) {
  using enum monitor::InputBound;
  return (verdict.bound == moderately || verdict.bound == highly) &&
         verdict.bottleneck != "consumer";
}

// Words for a person: keys are set, counts are raised, the rest is a command or in words; this one
// has been called.
std::string to_do_of(const monitor::Advice& advice) {
  if (advice.setting == "headrace doctor")
    return fmt::format("{} ({})", advice.action, advice.effect);
  constexpr std::array<std::string_view, 3> sections{"data.", "image.", "training."};
  const bool is_key = std::ranges::any_of(
      sections, [&](std::string_view section) { return advice.setting.starts_with(section); });
  const char* const verb = advice.rule.starts_with("raise-") ? "raise " : is_key ? "set " : "";
  return fmt::format("{}{} {} -> {}: {} ({})", verb, advice.setting, advice.old_value,
                     advice.new_value, advice.action, advice.effect);
}

// The trial that shows what holds the configuration back.
const PaceResult& trial_of(Limit limit, const Ceilings& ceilings) {
  return limit == Limit::storage ? ceilings.storage : ceilings.memory;
}

// Rules of the input: where it limits, a hint of theirs is the thing to do, too.
constexpr std::array<int, 8> input_rules{2, 3, 4, 5, 6, 10, 11, 12};

// The worst that the rules say of that trial.
std::optional<monitor::Advice> advice_of(Limit limit, const Ceilings& ceilings,
                                         const CeilingFacts& facts) {
  const bool of_input = limit == Limit::preparation || limit == Limit::storage;
  for (monitor::Advice& advice : monitor::advise(pace_facts(trial_of(limit, ceilings), facts)))
    if (advice.severity >= Severity::warning ||
        (of_input && std::ranges::find(input_rules, advice.number) != input_rules.end()))
      return std::move(advice);
  return std::nullopt;
}

// What is wrong with the machine, as a training is told where a rule speaks of it, too.
std::optional<monitor::Advice> advice_of(const Finding& finding, const Ceilings& ceilings,
                                         const CeilingFacts& facts) {
  if (finding.what != "open files") return std::nullopt;
  for (monitor::Advice& advice : monitor::advise(pace_facts(ceilings.memory, facts)))
    if (advice.rule == "file-limit") return std::move(advice);
  return std::nullopt;
}

std::string shared_cores(const Ceilings& ceilings, const CeilingFacts& facts) {
  const std::string why = fmt::format(
      "the step computes {} alone and {} beside the loader, which waits for nothing",
      format_seconds(ceilings.device->step_s()), format_seconds(ceilings.memory.step_s()));
  if (facts.settings.can_cache && facts.settings.may_cache())
    return fmt::format("take work off the cores: set data.cache.memory ({})", why);
  return fmt::format("share the cores: lower threads.torch or threads.loader ({})", why);
}

std::string device_bound(const Ceilings& ceilings, const Diagnosis& diagnosis) {
  const double headroom = diagnosis.memory.headroom;
  return fmt::format(
      "stop tuning input: the step itself takes {}{}, only a cheaper step or a faster device helps",
      format_seconds((ceilings.device ? *ceilings.device : ceilings.memory).step_s()),
      headroom > 1.0 ? fmt::format(", the loader can do {:.1f} times what it asks", headroom) : "");
}

const Finding* worst(const std::vector<Finding>& environment) {
  const auto found = std::ranges::find(environment, Severity::error, &Finding::severity);
  return found == environment.end() ? nullptr : &*found;
}

std::string missing(const Ceilings& ceilings) {
  const PaceResult* failed = &ceilings.memory;
  if (ceilings.device && !ceilings.device->failed.empty()) failed = &*ceilings.device;
  if (failed->failed.empty()) return "measure for longer: no step was finished (--seconds)";
  return fmt::format("{}: {}", failed->without_resources ? "make room" : "mend it first",
                     failed->failed);
}

// Which of the three it is, where all have a pace.
Limit limit_of(const Ceilings& ceilings, const Diagnosis& diagnosis) {
  const double least = ceilings.device ? least_stall : 2 * least_stall;  // two noisy rates
  if (diagnosis.fetch_share >= least && ceilings.storage.cold && waits(diagnosis.storage) &&
      diagnosis.fetch_stall_s >= diagnosis.prep_stall_s)
    return Limit::storage;
  if (waits(diagnosis.memory)) return Limit::preparation;
  const PaceResult& memory = ceilings.memory;
  if (diagnosis.prep_share >= least_crowding && memory.process_share >= full_cores &&
      !memory.budget.on_gpu)
    return Limit::cores;
  return diagnosis.memory.bound == monitor::InputBound::cannot_tell ? Limit::cannot_tell
                                                                    : Limit::device;
}

// Where no rule speaks.
std::string what_to_do(const Ceilings& ceilings, const Diagnosis& diagnosis,
                       const CeilingFacts& facts) {
  switch (diagnosis.limit) {
    case Limit::storage:
      return fmt::format("bring the data nearer: copy them to a faster disk, or pack them ({})",
                         diagnosis.storage.reason);
    case Limit::preparation:
      return fmt::format("make {} cheaper: {}", diagnosis.memory.bottleneck,
                         diagnosis.memory.reason);
    case Limit::cores:
      return shared_cores(ceilings, facts);
    case Limit::device:
      return device_bound(ceilings, diagnosis);
    case Limit::environment:
    case Limit::cannot_tell:
      break;
  }
  return fmt::format("measure for longer: {} (--seconds)", diagnosis.memory.reason);
}

}  // namespace

Diagnosis diagnose(const Ceilings& ceilings, const CeilingFacts& facts,
                   const std::vector<Finding>& environment) {
  Diagnosis diagnosis{.memory = ceilings.memory.verdict(), .storage = ceilings.storage.verdict()};
  const bool paced = has_pace(ceilings.memory);
  if (paced && ceilings.device && has_pace(*ceilings.device)) {
    diagnosis.prep_stall_s = beyond(ceilings.memory, *ceilings.device);
    diagnosis.prep_share = *diagnosis.prep_stall_s / ceilings.memory.step_s();
  }
  if (paced && has_pace(ceilings.storage)) {
    diagnosis.fetch_stall_s = std::max(0.0, wait_s(ceilings.storage) - wait_s(ceilings.memory));
    diagnosis.fetch_share = *diagnosis.fetch_stall_s / ceilings.storage.step_s();
  }
  if (const Finding* finding = worst(environment)) {
    diagnosis.limit = Limit::environment;
    diagnosis.advice = advice_of(*finding, ceilings, facts);
    const std::string& way_out = finding->way_out.empty() ? finding->found : finding->way_out;
    diagnosis.to_do = fmt::format("environment: {}: {}", finding->what,
                                  diagnosis.advice ? to_do_of(*diagnosis.advice) : way_out);
  } else if (!paced || (ceilings.device && !has_pace(*ceilings.device))) {
    diagnosis.to_do = missing(ceilings);
  } else {
    diagnosis.limit = limit_of(ceilings, diagnosis);
    if (diagnosis.limit != Limit::cannot_tell)
      diagnosis.advice = advice_of(diagnosis.limit, ceilings, facts);
    diagnosis.to_do =
        diagnosis.advice ? to_do_of(*diagnosis.advice) : what_to_do(ceilings, diagnosis, facts);
  }
  return diagnosis;
}

std::optional<double> storage_demand(const Ceilings& ceilings) {
  const PaceResult& storage = ceilings.storage;
  if (!storage.cold || storage.samples == 0 || ceilings.memory.verdict().demand_per_s == 0.0)
    return std::nullopt;
  const double read = storage.read_from_disk_per_s * storage.window_s;
  if (!(read > 0.0)) return std::nullopt;
  return read / static_cast<double>(storage.samples) * ceilings.memory.samples_per_s();
}

std::string_view to_string(Limit limit) {
  switch (limit) {
    case Limit::cannot_tell:
      return "cannot tell";
    case Limit::environment:
      return "environment";
    case Limit::device:
      return "device";
    case Limit::preparation:
      return "preparation";
    case Limit::cores:
      return "cores";
    case Limit::storage:
      return "storage";
  }
  return "unknown";
}

}  // namespace headrace::inline v1::app
