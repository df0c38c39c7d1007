#include <headrace/apps/doctor/pace_facts.h>

#include <algorithm>

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

}  // namespace headrace::inline v1::app
