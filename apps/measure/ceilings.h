#pragma once

#include <headrace/apps/backend/pace_trial.h>
#include <headrace/apps/measure/finding.h>
#include <headrace/monitor/advice/advice.h>
#include <headrace/monitor/advice/run_facts.h>
#include <headrace/monitor/advice/verdict.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What the rules of advice look at beside a pace: of the configuration and of the machine while no
/// trial runs.
struct CeilingFacts {
  monitor::SettingFacts settings{};
  std::uint64_t memory_room = 0;                    ///< bytes that a trial may take; 0: unknown
  std::uint64_t shared_room = 0;                    ///< free in the mount of shared memory
  std::optional<monitor::RunFacts::Files> files{};  ///< limits, and what the loader needs
};

/// A trial as the rules of advice look at it: one window, as an epoch of a training is one.
monitor::RunFacts pace_facts(const PaceResult& pace, const CeilingFacts& facts);

/// The pace of one configuration with three inputs.
struct Ceilings {
  std::optional<PaceResult> device{};  ///< nothing without a model
  PaceResult memory{};
  PaceResult storage{};
};

/// What holds a configuration back.
enum class Limit : unsigned char {
  cannot_tell,
  environment,
  device,       ///< the step itself
  preparation,  ///< of data that are in memory
  cores,        ///< the step and the preparation want the same ones
  storage,
};
std::string_view to_string(Limit limit);

/// What three ceilings come to. Stalls are seconds a step, shares of the step that has them.
struct Diagnosis {
  std::optional<double> prep_stall_s{};  ///< beyond the device alone with data in memory
  double prep_share = 0.0;
  std::optional<double> fetch_stall_s{};  ///< waited for cold data beyond those in memory
  double fetch_share = 0.0;
  monitor::Verdict memory{};
  monitor::Verdict storage{};
  Limit limit = Limit::cannot_tell;
  /// What the rules say of the trial that the limit shows in; nothing where none speaks.
  std::optional<monitor::Advice> advice{};
  std::string to_do{};  ///< one sentence: the one thing, of the advice where there is one
};

/// Below this share of a step a stall is taken for noise.
constexpr double least_stall = 0.05;

Diagnosis diagnose(const Ceilings& ceilings, const CeilingFacts& facts,
                   const std::vector<Finding>& environment);

/// Bytes/s that storage would have to give for the step to have the pace that it has of data in
/// memory, where a sample of cold data takes what it took; nothing where storage is memory or
/// nobody consumes.
std::optional<double> storage_demand(const Ceilings& ceilings);

/// A table of the ceilings, the stalls, both verdicts, and last the sentence with its evidence and
/// how to check it; no line is wider than `columns`, but a narrow table's.
std::string ceilings_text(const Ceilings& ceilings, const Diagnosis& diagnosis,
                          std::size_t columns = 100);

/// All that was measured and concluded.
std::string ceilings_json(const Ceilings& ceilings, const Diagnosis& diagnosis,
                          const std::string& configuration, const Findings& environment = {});

}  // namespace headrace::inline v1::app
