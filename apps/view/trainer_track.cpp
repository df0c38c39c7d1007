#include <headrace/apps/view/trainer_track.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace headrace::inline v1::app {
namespace {

using Span = monitor::TraceTrack::Span;

std::int64_t ns(double seconds) {
  return std::max<std::int64_t>(0, std::llround(seconds * 1e9));
}

}  // namespace

void TrainerTrack::add_step(const StepFacts& step, std::int64_t now_ns) {
  if (!std::exchange(in_steps_, true)) parts_.push_back({.after_ns = ended_ns_});
  if (steps_ == most_steps) return;
  ++steps_;
  parts_.back().steps.push_back(
      {.told_ns = now_ns, .epoch = step.epoch, .step = step.step, .times = step.times});
}

void TrainerTrack::end_steps(std::int64_t now_ns) {
  in_steps_ = false;
  ended_ns_ = now_ns;
}

void TrainerTrack::add_phase(const std::string& name, std::int64_t epoch, std::int64_t now_ns) {
  in_steps_ = false;
  const std::int64_t since = std::exchange(ended_ns_, now_ns);
  if (since < 0) return;
  phases_.push_back({.name = name,
                     .category = name,
                     .start_ns = since,
                     .duration_ns = now_ns - since,
                     .epoch = epoch});
}

// The parts of a step are known by their sums alone.
TrainerTrack::Spans TrainerTrack::spans_of(const Step& step, std::int64_t start_ns) {
  const std::int64_t wall = ns(step.times.wall_s);
  Spans spans{{.name = "step",
               .category = "step",
               .start_ns = start_ns,
               .duration_ns = wall,
               .epoch = step.epoch,
               .step = step.step}};
  std::int64_t at = 0;
  const auto add = [&](const char* name, double seconds) {
    const std::int64_t length = std::min(ns(seconds), wall - at);
    if (length > 0)
      spans.push_back(
          {.name = name, .category = name, .start_ns = start_ns + at, .duration_ns = length});
    at += length;
  };
  add("data wait", step.times.data_wait_s);
  add("copy", step.times.copy_s);
  add("compute", step.times.compute_s);
  add("other", step.times.other_s());
  return spans;
}

std::vector<TrainerTrack::Spans> TrainerTrack::spans_of(const Part& part) {
  std::int64_t length = 0;
  std::int64_t begun = std::numeric_limits<std::int64_t>::max();
  for (const Step& step : part.steps) {
    length += ns(step.times.wall_s);
    begun = std::min(begun, step.told_ns - length);  // none ends behind its telling
  }
  std::vector<Spans> all;
  if (part.after_ns >= 0 && part.after_ns < begun)
    all.push_back({{.name = "checkpoint and rest",
                    .category = "checkpoint",
                    .start_ns = part.after_ns,
                    .duration_ns = begun - part.after_ns}});
  for (const Step& step : part.steps) {
    all.push_back(spans_of(step, begun));
    begun += ns(step.times.wall_s);
  }
  return all;
}

monitor::TraceTrack TrainerTrack::track() const {
  std::vector<Spans> all;
  for (const Part& part : parts_)
    std::ranges::move(spans_of(part), std::back_inserter(all));
  for (const Span& phase : phases_)
    all.push_back({phase});
  std::ranges::stable_sort(all, {}, [](const Spans& spans) { return spans.front().start_ns; });
  monitor::TraceTrack track{.name = "trainer"};
  std::int64_t end = 0;  // the steady clock begins with the machine
  for (Spans& spans : all) {
    // Clocks that were read one behind the other: a piece that begins before the last one's end is
    // moved behind it.
    const std::int64_t late = std::max<std::int64_t>(0, end - spans.front().start_ns);
    for (Span& span : spans) {
      span.start_ns += late;
      track.spans.push_back(std::move(span));
    }
    end = spans.front().start_ns + spans.front().duration_ns;
  }
  return track;
}

}  // namespace headrace::inline v1::app
