#pragma once

#include <headrace/apps/figures/reports.h>
#include <headrace/monitor/step_budget.h>
#include <headrace/monitor/trace_file.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Where the trainer's time went, as a line of a trace: steps with their parts one behind the
/// other, and what lies between an epoch's steps. A step is told of at its end or, on a GPU, some
/// steps later; their lengths and the earliest telling say where they lay. Not thread-safe.
class TrainerTrack {
 public:
  /// Steps beyond these are left out.
  static constexpr std::size_t most_steps = 100'000;

  /// What is told of happens at `now`.
  void add_step(const StepFacts& step, std::int64_t now_ns);
  /// The last step of an epoch was told of.
  void end_steps(std::int64_t now_ns);
  /// Ends what began where the part before ended: "evaluation", "checkpoint".
  void add_phase(const std::string& name, std::int64_t epoch, std::int64_t now_ns);

  monitor::TraceTrack track() const;

 private:
  struct Step {
    std::int64_t told_ns = 0;
    std::int64_t epoch = 0;
    std::int64_t step = 0;
    monitor::StepTimes times{};
  };
  // Steps without a pause between them.
  struct Part {
    std::int64_t after_ns = -1;  // where the part before ended; -1: not known
    std::vector<Step> steps{};
  };
  using Spans = std::vector<monitor::TraceTrack::Span>;

  static std::vector<Spans> spans_of(const Part& part);
  static Spans spans_of(const Step& step, std::int64_t start_ns);

  std::vector<Part> parts_;
  Spans phases_;
  bool in_steps_ = false;
  std::int64_t ended_ns_ = -1;
  std::size_t steps_ = 0;
};

/// Nanoseconds of the steady clock.
inline std::int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace headrace::inline v1::app
