#include <headrace/apps/measure/ceilings.h>
#include <headrace/apps/measure/tune/tune.h>
#include <headrace/engine/base/error.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr double least_gain = 0.02;
constexpr double clear_gain = 0.10;  // that one pair of trials shows
constexpr double promising = 0.05;   // predicted gain that is tried in any case
constexpr double at_ceiling = 0.97;  // of the step's own pace
constexpr int flat_in_a_row = 2;
constexpr std::size_t most_pairs = 3;

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  if (values.empty()) return 0.0;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// What the consumer of a pipeline without a model takes when nothing is in its way; 0: there is
// none.
double consumer_alone(const WholeConfiguration& configuration) {
  if (!configuration.loader || !(configuration.loader->delay.consumer.seconds > 0.0)) return 0.0;
  return static_cast<double>(configuration.loader->batch) /
         configuration.loader->delay.consumer.seconds;
}

class Search {
 public:
  Search(const WholeConfiguration& configuration, const TuneSearch& search)
      : search_(search), first_(configuration), bytes_(record_bytes(configuration)) {
    tuned_.configuration = configuration;
  }

  Tuned run() {
    measure_ceilings();
    while (!is_over()) {
      const std::optional<TuneCandidate> next = next_candidate();
      if (!next) break;
      try_candidate(*next);
    }
    if (tuned_.ended.empty()) tuned_.ended = "nothing else is left to try";
    tuned_.after = pace_.samples_per_s();
    tuned_.changes = all_changes();
    return std::move(tuned_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  double elapsed_s() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  // The last trial says nothing: somebody has ended it.
  bool stopped() const { return search_.stop.stop_requested() || cut_short_; }
  bool is_over() {
    if (search_.stop.stop_requested())
      tuned_.ended = "it was stopped";
    else if (cut_short_ || elapsed_s() >= search_.seconds)
      tuned_.ended = "the time is up";
    return !tuned_.ended.empty();
  }

  void tell(const std::string& line) const {
    if (search_.tell) search_.tell(line);
  }

  PaceResult measured(const WholeConfiguration& configuration, PaceInput input) {
    PaceResult pace = search_.measure(configuration, input);
    cut_short_ = pace.stopped;
    return pace;
  }

  PaceResult require(PaceInput input) {
    PaceResult pace = measured(first_, input);
    if (stopped() || (pace.failed.empty() && pace.samples_per_s() > 0.0)) return pace;
    throw Failure(
        pace.failed.empty() ? ExitCode::data : pace.ended_with,
        fmt::format("[tune] the configuration must have a pace with input from {}, got "
                    "none: {}",
                    to_string(input), pace.failed.empty() ? "no step was finished" : pace.failed));
  }

  // Where cold data hold it back they are what is tried with.
  void measure_ceilings() {
    Ceilings ceilings;
    if (first_.trains) ceilings.device = require(PaceInput::device_only);
    if (!stopped()) ceilings.storage = measured(first_, PaceInput::storage);
    if (!stopped()) ceilings.memory = require(PaceInput::memory);
    if (search_.stop.stop_requested()) return;
    if (cut_short_)
      throw ConfigError(fmt::format(
          "[tune] the time must suffice for a first trial of each input, it was up after {:.1f} s; "
          "raise --minutes, or see with headrace doctor whether a trial hangs",
          elapsed_s()));
    if (ceilings.device) tuned_.device_per_s = ceilings.device->samples_per_s();
    const bool cold = diagnose(ceilings, {}, {}).limit == Limit::storage;
    tuned_.input = cold ? PaceInput::storage : PaceInput::memory;
    pace_ = cold ? ceilings.storage : ceilings.memory;
    tuned_.before = pace_.samples_per_s();
    if (pace_.peak_held > search_.budget.memory && search_.budget.memory > 0)
      throw ResourceError(fmt::format(
          "[tune] the configuration must fit the budget before it is tuned, {}, it holds {}; raise "
          "--memory",
          monitor::format_bytes(search_.budget.memory), monitor::format_bytes(pace_.peak_held)));
  }

  static std::string name_of(const KeyChange& change) {
    return change.key + '=' + change.new_value;
  }

  // Of those that were not tried with this configuration.
  std::optional<TuneCandidate> next_candidate() {
    const double rate = pace_.samples_per_s();
    const bool waits = pace_.budget.data_stall_fraction() >= least_stall;
    const double alone = tuned_.device_per_s;
    if (!waits && rate >= at_ceiling * alone) {
      tuned_.ended =
          alone > 0.0 ? "it has the pace of the step itself" : "its consumer never waits";
      return std::nullopt;
    }
    const TunePoint point{
        .configuration = tuned_.configuration,
        .pace = pace_,
        .device_per_s = alone > 0.0 ? alone : consumer_alone(tuned_.configuration),
        .bytes = bytes_};
    for (const TuneCandidate& candidate : tune_candidates(point, search_.budget)) {
      if (tried_.contains(name_of(candidate.change))) continue;
      if (flat_ >= flat_in_a_row && candidate.predicted < (1.0 + promising) * rate) {
        tuned_.ended = "two changes in a row gained less than 2 %";
        return std::nullopt;
      }
      return candidate;
    }
    return std::nullopt;
  }

  // The configuration with the change; nothing where it is none, or another would be learnt.
  std::optional<WholeConfiguration> changed(TunedStep& step) const {
    const KeyChange& change = step.candidate.change;
    try {
      Node asked = tuned_.configuration.asked;
      apply_override(asked, name_of(change));
      WholeConfiguration whole = read_whole_configuration(search_.jobs, asked);
      const bool may_differ = change.key.ends_with("batch") || change.key == "image.decode";
      if (whole.identity == tuned_.configuration.identity || may_differ) return whole;
      step.why = "it changes what is learnt";
    } catch (const ConfigError& error) {
      step.why = error.what();
    }
    step.outcome = TuneOutcome::refused;
    return std::nullopt;
  }

  void try_candidate(const TuneCandidate& candidate) {
    TunedStep step{.candidate = candidate};
    tried_.insert(name_of(candidate.change));
    const std::optional<WholeConfiguration> whole = changed(step);
    std::optional<PaceResult> pace;
    if (whole) pace = compare(*whole, step);
    if (stopped()) return;
    tell(fmt::format("{} {} -> {}: predicted {}, got {} beside {} samples/s: {}",
                     candidate.change.key, candidate.change.old_value, candidate.change.new_value,
                     monitor::format_rate(candidate.predicted), monitor::format_rate(step.got),
                     monitor::format_rate(step.beside), to_string(step.outcome)));
    tuned_.steps.push_back(step);
    if (step.outcome == TuneOutcome::no_gain) ++flat_;
    if (step.outcome != TuneOutcome::kept) return;
    flat_ = 0;
    tuned_.configuration = *whole;
    pace_ = *pace;
    // What helped nothing before may help now.
    std::erase_if(tried_, [&](const std::string& name) {
      return !name.starts_with(candidate.change.key + '=');
    });
  }

  // In turn, so that a machine that others use slows both down. Gives the last of the changed one.
  std::optional<PaceResult> compare(const WholeConfiguration& whole, TunedStep& step) {
    std::vector<double> got;
    std::vector<double> beside;
    std::vector<double> ratios;
    std::optional<PaceResult> last;
    for (std::size_t pair = 0; pair < most_pairs; ++pair) {
      const PaceResult pace = measured(whole, tuned_.input);
      if (!fits(pace, step)) return std::nullopt;
      const PaceResult without =
          pair == 0 && fresh_ ? pace_ : measured(tuned_.configuration, tuned_.input);
      fresh_ = false;
      got.push_back(pace.samples_per_s());
      beside.push_back(without.samples_per_s());
      if (beside.back() > 0.0) ratios.push_back(got.back() / beside.back());
      last = pace;
      const double gain = median(ratios) - 1.0;
      const bool clear = gain > clear_gain || gain < -least_gain;
      const bool said_twice = pair > 0 && (gain < 0.0 || gain > 2 * least_gain);
      if (clear || said_twice || stopped() || elapsed_s() >= search_.seconds) break;
    }
    step.trials = static_cast<int>(got.size());
    step.got = median(got);
    step.beside = median(beside);
    step.gain = median(ratios) - 1.0;
    const auto [least, most] = std::ranges::minmax(got);
    step.spread = step.got > 0.0 ? (most - least) / 2 / step.got : 0.0;
    settle(step);
    return last;
  }

  static void settle(TunedStep& step) {
    const bool gained = step.gain >= least_gain;
    const bool sure = step.trials > 1 || step.gain > clear_gain;
    step.outcome = gained && sure ? TuneOutcome::kept : TuneOutcome::no_gain;
    if (gained && !sure) step.why = "one pair of trials shows no gain so small";
  }

  bool fits(const PaceResult& pace, TunedStep& step) const {
    if (!pace.failed.empty()) {
      step.outcome = pace.refused             ? TuneOutcome::refused
                     : pace.without_resources ? TuneOutcome::too_large
                                              : TuneOutcome::failed;
      step.why = pace.failed;
      return false;
    }
    if (search_.budget.memory == 0 || pace.peak_held <= search_.budget.memory) return true;
    step.outcome = TuneOutcome::too_large;
    step.why = fmt::format("it holds {} of {}", monitor::format_bytes(pace.peak_held),
                           monitor::format_bytes(search_.budget.memory));
    return false;
  }

  // A key that was changed twice stands there once.
  std::vector<KeyChange> all_changes() const {
    std::vector<KeyChange> changes = search_.given;
    for (const TunedStep& step : tuned_.steps) {
      if (step.outcome != TuneOutcome::kept) continue;
      const KeyChange& change = step.candidate.change;
      const auto known = std::ranges::find(changes, change.key, &KeyChange::key);
      if (known == changes.end())
        changes.push_back(change);
      else
        known->new_value = change.new_value;
    }
    std::erase_if(changes, [](const KeyChange& one) { return one.old_value == one.new_value; });
    return changes;
  }

  const TuneSearch& search_;
  const WholeConfiguration& first_;
  RecordBytes bytes_;
  Clock::time_point start_ = Clock::now();
  Tuned tuned_;
  PaceResult pace_;    // of the best so far
  bool fresh_ = true;  // it was measured just now
  bool cut_short_ = false;
  std::set<std::string> tried_;
  int flat_ = 0;
};

}  // namespace

Tuned tune_configuration(const WholeConfiguration& configuration, const TuneSearch& search) {
  return Search(configuration, search).run();
}

}  // namespace headrace::inline v1::app
