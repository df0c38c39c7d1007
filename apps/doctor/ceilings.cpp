#include <headrace/apps/doctor/ceilings.h>
#include <headrace/monitor/format.h>

#include <algorithm>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

using monitor::format_bytes;
using monitor::format_rate;
using monitor::format_seconds;
using monitor::format_share;

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

bool waits(const monitor::Verdict& verdict) {
  using enum monitor::InputBound;
  return verdict.bound == moderately || verdict.bound == highly;
}

std::string change(const monitor::Advice& advice, const CeilingFacts& facts) {
  std::string old_value = advice.old_value;
  std::string new_value = advice.new_value;
  if (advice.setting == "data.prefetch" && facts.prefetch > 0) {
    old_value = std::to_string(facts.prefetch);
    new_value = std::to_string(2 * facts.prefetch);
  }
  return fmt::format("{} {} -> {}: {} ({})", advice.setting, old_value, new_value, advice.action,
                     advice.effect);
}

bool lies_in_memory(const CeilingFacts& facts) {
  return facts.data_bytes > 0 && facts.data_bytes < facts.memory_room;
}

// Of data that come too slowly from where they lie.
std::string better_storage(const Diagnosis& diagnosis, const CeilingFacts& facts) {
  const auto& advice = diagnosis.storage.advice;
  if (advice && advice->rule == "raise-io-threads") return "raise " + change(*advice, facts);
  const std::string why = facts.data_bytes == 0 ? std::string("storage is slower than the step")
                                                : fmt::format("{} of data, {} of memory are free",
                                                              format_bytes(facts.data_bytes),
                                                              format_bytes(facts.memory_room));
  if (lies_in_memory(facts) && !facts.resident.empty())
    return fmt::format("stage the data: raise data.resident {} until they fit ({})", facts.resident,
                       why);
  if (facts.has_stage)
    return fmt::format("stage the data: set data.stage to a folder on a local disk ({})", why);
  if (lies_in_memory(facts))
    return fmt::format("stage the data: read them once, later epochs come from the page cache ({})",
                       why);
  return fmt::format("stage the data: copy them to a faster disk, or pack them ({})", why);
}

std::string better_preparation(const Diagnosis& diagnosis, const CeilingFacts& facts) {
  const monitor::Verdict& verdict = diagnosis.memory;
  if (!verdict.advice)
    return fmt::format("make {} cheaper: {}", verdict.bottleneck, verdict.reason);
  const monitor::Advice& advice = *verdict.advice;
  if (advice.rule == "cheaper-step" && facts.can_cache)
    return fmt::format("cache what {} makes: set data.cache.memory ({})", verdict.bottleneck,
                       advice.effect);
  if (advice.rule.starts_with("raise-")) return "raise " + change(advice, facts);
  return fmt::format("make {} cheaper, {} -> {} a sample: {} ({})", verdict.bottleneck,
                     advice.old_value, advice.new_value, advice.action, advice.effect);
}

std::string shared_cores(const Ceilings& ceilings, const CeilingFacts& facts) {
  const std::string why = fmt::format(
      "the step computes {} alone and {} beside the loader, which waits for nothing",
      format_seconds(ceilings.device->step_s()), format_seconds(ceilings.memory.step_s()));
  if (facts.can_cache)
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
  const auto found = std::ranges::find(environment, monitor::Severity::error, &Finding::severity);
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

std::string what_to_do(const Ceilings& ceilings, const Diagnosis& diagnosis,
                       const CeilingFacts& facts) {
  switch (diagnosis.limit) {
    case Limit::storage:
      return better_storage(diagnosis, facts);
    case Limit::preparation:
      return better_preparation(diagnosis, facts);
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
    diagnosis.to_do = fmt::format("environment: {}: {}", finding->what,
                                  finding->way_out.empty() ? finding->found : finding->way_out);
  } else if (!paced || (ceilings.device && !has_pace(*ceilings.device))) {
    diagnosis.to_do = missing(ceilings);
  } else {
    diagnosis.limit = limit_of(ceilings, diagnosis);
    diagnosis.to_do = what_to_do(ceilings, diagnosis, facts);
  }
  return diagnosis;
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
