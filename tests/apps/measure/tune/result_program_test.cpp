// What becomes of a doctor or a tune that cannot end as it was asked to, and of its trial.
#include <headrace/apps/jobs/jobs.h>
#include <headrace/apps/measure/tune/tune.h>
#include <headrace/apps/measure/whole_configuration.h>
#include <headrace/tests/apps/measure/doctor/planted_job.h>
#include <headrace/tests/apps/started_program.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace::test;

namespace {

namespace app = headrace::app;
namespace fs = std::filesystem;
using Words = std::vector<std::string>;

Finished run(const PlantedJob& job, const Words& words) {
  return run_headrace(job.path(), words);
}

// Of the first trial of a program.
pid_t trial_of(StartedProgram& program) {
  const std::string pid = std::to_string(program.pid());
  const fs::path children = fs::path("/proc") / pid / "task" / pid / "children";
  REQUIRE(program.wait_until([&] { return !content_of(children).empty(); }));
  return std::stoi(content_of(children));
}

// A zombie is gone, too, where nobody collects what has lost its parent.
bool is_gone(pid_t process) {
  const std::string stat = content_of(fs::path("/proc") / std::to_string(process) / "stat");
  const auto name_end = stat.rfind(')');
  return name_end == std::string::npos || stat.substr(name_end + 2, 1) == "Z";
}

// What a tune says that is stopped in its first trial.
Finished stopped_tune(const PlantedJob& job, const Words& more) {
  Words words{"tune", "loader.yaml", "--seconds", "3600"};
  words.insert(words.end(), more.begin(), more.end());
  StartedProgram program(headrace::test::headrace_program(), words, {.folder = job.path()});
  trial_of(program);
  program.signal(SIGINT);
  const int status = program.wait();
  CHECK(status == 130);
  return {.status = status, .out = program.out(), .err = program.err()};
}

// The limit ends a test that fails, long before the trial would end.
bool goes(pid_t process) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(5);
  while (!is_gone(process) && std::chrono::steady_clock::now() < limit)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return is_gone(process);
}

}  // namespace

TEST_CASE("doctor and tune refuse files that could not hold their result before any trial") {
  const PlantedJob job;
  const std::string before = content_of(job.path() / "loader.yaml");
  for (const Words& words : {Words{"tune", "loader.yaml", "--output", "nowhere/x.yaml"},
                             Words{"tune", "loader.yaml", "--json", "nowhere/x.json"},
                             Words{"tune", "loader.yaml", "--json", "loader.yaml"},
                             Words{"tune", "loader.yaml", "--json", "x", "--output", "x"},
                             Words{"doctor", "loader.yaml", "--json", "nowhere/x.json"},
                             Words{"doctor", "--json", "nowhere/x.json"},
                             Words{"doctor", "loader.yaml", "--json", "./loader.yaml"}}) {
    const Finished finished = run(job, words);
    CAPTURE(finished.err);
    CHECK(finished.status == 2);
    CHECK_FALSE(contains(finished.err, "input from"));
  }
  CHECK(content_of(job.path() / "loader.yaml") == before);
}

TEST_CASE("no time of doctor or tune is endless") {
  const PlantedJob job;
  for (const char* number : {"nan", "inf", "-1"}) {
    CHECK(run(job, {"doctor", "loader.yaml", "--seconds", number}).status == 2);
    CHECK(run(job, {"tune", "loader.yaml", "--seconds", number}).status == 2);
    CHECK(run(job, {"tune", "loader.yaml", "--minutes", number}).status == 2);
    CHECK(run(job, {"new", "classification", "--data", ".", "--gpu-memory", number}).status == 2);
  }
}

TEST_CASE("a trial ends with the program that has started it, however early that dies") {
  const PlantedJob job;
  for (const char* command : {"doctor", "tune"}) {
    StartedProgram program(headrace::test::headrace_program(),
                           {command, "loader.yaml", "--seconds", "3600"}, {.folder = job.path()});
    const pid_t trial = trial_of(program);
    program.signal(SIGKILL);
    CHECK(program.wait() == 128 + SIGKILL);
    CHECK(goes(trial));
  }
}

TEST_CASE("the time of a search ends its trial, and too little of it is said") {
  const PlantedJob job;
  const Finished finished =
      run(job, {"tune", "loader.yaml", "--seconds", "3600", "--minutes", "0.02"});
  CHECK(finished.status == 2);
  CHECK_MESSAGE(contains(finished.err, "raise --minutes"), finished.err);
}

TEST_CASE("tune sets threads that stand for all cores to those that the run may use") {
  const PlantedJob job;
  const Finished finished =
      stopped_tune(job, {"--set", "threads.loader=0", "--set", "threads.io=1", "--cpu", "1"});
  CHECK_MESSAGE(contains(finished.out, "threads.loader 0 -> 1"), finished.out);
  const auto tuned =
      app::read_whole_configuration(app::jobs(), job.path() / "loader.tuned.yaml", {});
  CHECK(tuned.number("threads.loader") == 1);
}

TEST_CASE("cores that were not asked for bind no trial") {
  const app::TuneBudget budget{.cores = 2};
  CHECK(app::trial_question({}, budget, app::PaceInput::memory).cores == 0);
  CHECK(app::trial_question({.cpu = 2}, budget, app::PaceInput::memory).cores == 2);
}

TEST_CASE("a tune that keeps nothing leaves the file of an earlier one, and a device one") {
  const PlantedJob job;
  std::ofstream(job.path() / "loader.tuned.yaml") << "kept\n";
  const Finished finished = stopped_tune(job, {});
  CHECK_MESSAGE(contains(finished.out, "changed      nothing"), finished.out);
  CHECK_MESSAGE(contains(finished.out, "loader.tuned.yaml stays"), finished.out);
  CHECK(content_of(job.path() / "loader.tuned.yaml") == "kept\n");
}

TEST_CASE("doctor says where a trial hung") {
  const PlantedJob job;
  const Finished finished = run(job, {"doctor", "loader.yaml", "--seconds", "0.2", "--set",
                                      "threads.watchdog=5s", "--set", "delay.read=60s"});
  CHECK(finished.status == 134);
  CHECK_MESSAGE(contains(finished.err, "the trial hung: "), finished.err);
  CHECK_MESSAGE(contains(finished.err, "is in stage \"read\""), finished.err);
}

TEST_CASE("a signal to the trial alone stops a tune with the code of that signal") {
  const PlantedJob job;
  StartedProgram program(headrace::test::headrace_program(),
                         {"tune", "loader.yaml", "--seconds", "3600"}, {.folder = job.path()});
  ::kill(trial_of(program), SIGTERM);
  CHECK(program.wait() == 143);
  CHECK(contains(program.out(), "ended        it was stopped"));
}
