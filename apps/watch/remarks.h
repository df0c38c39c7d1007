#pragma once

#include <headrace/monitor/advice/run_facts.h>
#include <headrace/monitor/system/usage_statistics.h>

#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What was seen of a machine and its GPU.
struct Seen {
  monitor::UsageStatistics statistics{};
  monitor::MachineFacts machine{};
  std::optional<monitor::GpuFacts> gpu{};
  bool watches_process = false;
};

/// What stands out, a sentence each with its figures and what to do; none where nothing does, or
/// where fewer than five samples were taken. Of how a run waits for its data the run's own advice
/// says more: a program that is only looked at from outside does not tell.
std::vector<std::string> remarks(const Seen& seen);

}  // namespace headrace::inline v1::app
