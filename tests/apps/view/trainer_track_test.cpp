#include <headrace/apps/view/step_range.h>
#include <headrace/apps/view/trainer_track.h>

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using app::parse_step_range;
using app::TrainerTrack;
using Span = monitor::TraceTrack::Span;

namespace {

constexpr std::int64_t ms = 1'000'000;

app::StepFacts timed_step(std::int64_t number, double wall_s = 0.010) {
  return {.step = number,
          .times = {.wall_s = wall_s,
                    .data_wait_s = 0.1 * wall_s,
                    .copy_s = 0.2 * wall_s,
                    .compute_s = 0.6 * wall_s}};
}

std::vector<Span> steps_of(const monitor::TraceTrack& track) {
  std::vector<Span> steps;
  for (const Span& span : track.spans)
    if (span.name == "step") steps.push_back(span);
  return steps;
}

// Pieces beside each other, parts in a piece.
void check_nesting(const monitor::TraceTrack& track) {
  std::int64_t outer_end = 0;
  std::int64_t inner_end = 0;
  for (const Span& span : track.spans) {
    const std::int64_t end = span.start_ns + span.duration_ns;
    if (span.start_ns >= outer_end) {
      outer_end = end;
      inner_end = span.start_ns;
    } else {
      CHECK(span.start_ns >= inner_end);
      CHECK(end <= outer_end);
      inner_end = end;
    }
  }
}

}  // namespace

TEST_CASE("steps that are told of as they end lie there, with their parts one behind the other") {
  TrainerTrack told;
  for (std::int64_t i = 1; i <= 3; ++i)
    told.add_step(timed_step(i), (100 + 10 * i) * ms);
  const monitor::TraceTrack track = told.track();
  CHECK(track.name == "trainer");
  check_nesting(track);
  const auto steps = steps_of(track);
  REQUIRE(steps.size() == 3);
  CHECK(steps[0].start_ns == 100 * ms);
  CHECK(steps[2].start_ns + steps[2].duration_ns == 130 * ms);
  CHECK(steps[1].step == 2);
  REQUIRE(track.spans.size() == 15);
  CHECK(track.spans[1].name == "data wait");
  CHECK(track.spans[1].duration_ns == ms);
  CHECK(track.spans[2].name == "copy");
  CHECK(track.spans[3].name == "compute");
  CHECK(track.spans[3].duration_ns == 6 * ms);
  CHECK(track.spans[4].name == "other");
  CHECK(track.spans[4].start_ns + track.spans[4].duration_ns == 110 * ms);
}

TEST_CASE("steps that are told of late lie where the earliest telling lets them") {
  TrainerTrack told;
  told.add_step(timed_step(1), 125 * ms);
  told.add_step(timed_step(2), 135 * ms);
  told.add_step(timed_step(3), 135 * ms);
  told.add_step(timed_step(4), 140 * ms);  // the last is told of as it ends
  const auto steps = steps_of(told.track());
  REQUIRE(steps.size() == 4);
  CHECK(steps[0].start_ns == 100 * ms);
  CHECK(steps[3].start_ns + steps[3].duration_ns == 140 * ms);
}

TEST_CASE("evaluation and what follows it lie between the steps of two epochs") {
  TrainerTrack told;
  told.add_step(timed_step(1), 110 * ms);
  told.end_steps(111 * ms);
  told.add_phase("evaluation", 0, 150 * ms);
  told.add_step(timed_step(2), 170 * ms);
  told.add_step(timed_step(3), 180 * ms);
  const monitor::TraceTrack track = told.track();
  check_nesting(track);
  std::vector<std::string> names;
  for (const Span& span : track.spans)
    if (span.category == span.name || span.category == "checkpoint") names.push_back(span.name);
  const auto at = [&track](const std::string& name) {
    for (const Span& span : track.spans)
      if (span.name == name) return span;
    return Span{};
  };
  CHECK(at("evaluation").start_ns == 111 * ms);
  CHECK(at("evaluation").duration_ns == 39 * ms);
  CHECK(at("checkpoint and rest").start_ns == 150 * ms);
  CHECK(at("checkpoint and rest").duration_ns == 10 * ms);
}

TEST_CASE("parts that come to more than their step, and clocks that disagree, still nest") {
  TrainerTrack told;
  app::StepFacts odd = timed_step(1);
  odd.times.compute_s = 1.0;
  told.add_step(odd, 110 * ms);
  told.add_phase("evaluation", 0, 120 * ms);
  told.add_step(timed_step(2, 0.050), 130 * ms);  // would begin within the first
  told.add_step({.step = 3}, 130 * ms);
  check_nesting(told.track());
}

TEST_CASE("a range of steps is two numbers from 1 on, or one") {
  const auto range = parse_step_range("100..120");
  REQUIRE(range);
  CHECK(range->first == 100);
  CHECK(range->last == 120);
  const auto one = parse_step_range("7");
  REQUIRE(one);
  CHECK(one->first == 7);
  CHECK(one->last == 7);
  for (const char* text : {"", "..", "1..", "..5", "0..5", "0", "-3", "5..4", "a..b", "1...3",
                           "1..2..3", "1-5", " 1..2", "1.5..2", "99999999999999999999..1"})
    CHECK_MESSAGE(!parse_step_range(text), text);
}
