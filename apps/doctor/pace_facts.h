#pragma once

#include <headrace/apps/train/pace_trial.h>
#include <headrace/monitor/run_facts.h>

#include <cstdint>
#include <optional>

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

}  // namespace headrace::inline v1::app
