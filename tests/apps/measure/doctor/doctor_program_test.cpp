// `headrace doctor` and `headrace tune` on real steps: what they say and write however quick the
// machine is.
#include <headrace/tests/apps/measure/doctor/planted_job.h>
#include <headrace/tests/apps/measure/doctored_training.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

namespace fs = std::filesystem;
using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::DoctoredTraining;
using headrace::test::Finished;
using headrace::test::PlantedJob;
using Words = std::vector<std::string>;

std::set<fs::path> files_in(const fs::path& folder) {
  return {fs::directory_iterator(folder), fs::directory_iterator()};
}

}  // namespace

TEST_CASE("doctor measures three ceilings of real steps and writes nothing") {
  const DoctoredTraining job;
  const auto found = job.doctor({});
  // But for the data, the configuration, its JSON, and its output, which the test keeps.
  CHECK(files_in(job.path()).size() == 8);
  for (const auto& [input, pace] : found.at("ceilings").items()) {
    CAPTURE(input);
    const auto& budget = pace.at("budget");
    const double wall = budget.at("wall_s");
    const double sum = budget.at("data_wait_s").get<double>() + budget.at("copy_s").get<double>() +
                       budget.at("compute_s").get<double>() + budget.at("other_s").get<double>();
    CHECK(sum == doctest::Approx(wall).epsilon(0.02));
    CHECK(budget.at("steps").get<int>() >= 1);
    CHECK(pace.at("stage") == "train");
  }
}

TEST_CASE("doctor finds two ceilings of a pipeline without a model") {
  const DoctoredTraining job;
  job.write_loader();
  const auto found = job.doctor({"delay.decode=1ms", "delay.consumer=5ms"}, "loader.yaml");
  CHECK(found.at("ceilings").size() == 2);
  CHECK(contains(found.at("ceilings").at("storage").at("storage").get<std::string>(),
                 "storage is memory"));
}

TEST_CASE("doctor names a limit of open files below what its loader may open, and no other") {
  const PlantedJob job;
  const auto found = job.doctor({}, 24);
  CHECK(found.at("limit") == "environment");
  const std::string to_do = found.at("to_do");
  CAPTURE(to_do);
  CHECK(to_do.starts_with("environment: open files: "));
  CHECK(contains(to_do, "ulimit -n 24 -> "));
  for (const char* other : {"threads.loader", "threads.io", "data.prefetch", "time a sample",
                            "renice", "headrace pack table", "data.resident"})
    CHECK_MESSAGE(!contains(to_do, other), other);
  REQUIRE(found.contains("advice"));
  const auto& advice = found.at("advice");
  CHECK(advice.at("rule") == "file-limit");
  CHECK(advice.at("evidence").size() >= 3);
  CHECK_FALSE(advice.at("effect").get<std::string>().empty());
  CHECK_FALSE(advice.at("check").get<std::string>().empty());
}

TEST_CASE("doctor ends with the code of what is wrong") {
  const DoctoredTraining job;
  const auto status = [&](const Words& more) {
    Words words{"doctor", "job.yaml", "--seconds", "0.2"};
    words.insert(words.end(), more.begin(), more.end());
    return job.run(words);
  };
  CHECK(status({"--set", "data.trainn=x"}).status == 2);
  CHECK(status({"--set", "memory.limit=20MiB"}).status == 4);
  const Finished missing = status({"--set", "data.train.file=none.npy"});
  CHECK(missing.status == 2);
  CHECK(contains(missing.err, "none.npy"));
  CHECK(status({"--seconds", "0"}).status == 2);
  CHECK(job.run({"doctor"}).status != 1);
}

TEST_CASE("tune refuses what cannot be") {
  const DoctoredTraining job;
  const auto status = [&](const Words& more) {
    Words words{"tune", "job.yaml", "--seconds", "0.2", "--minutes", "30"};
    words.insert(words.end(), more.begin(), more.end());
    return job.run(words).status;
  };
  CHECK(status({"--cpu", "4096"}) == 2);
  CHECK(status({"--output", "job.yaml"}) == 2);
  CHECK(status({"--allow", "loss"}) == 2);
  CHECK(status({"--memory", "20MiB"}) == 4);
  CHECK(status({"--set", "data.train.file=none.npy"}) == 2);
}

TEST_CASE("tune that SIGINT stops in a trial of hours does not wait for it") {
  const DoctoredTraining job;
  headrace::test::StartedProgram program(headrace::test::headrace_program(),
                                         {"tune", "job.yaml", "--seconds", "3600"},
                                         {.folder = job.path()});
  const fs::path children = fs::path("/proc") / std::to_string(program.pid()) / "task" /
                            std::to_string(program.pid()) / "children";
  REQUIRE(program.wait_until([&] { return !content_of(children).empty(); }));
  const std::string child = content_of(children);
  program.signal(SIGINT);
  CHECK(program.wait() == 130);
  CHECK_FALSE(fs::exists(fs::path("/proc") / child.substr(0, child.find(' '))));
  CHECK(contains(program.out(), "changed      nothing"));
  CHECK(job.read("job.tuned.yaml").yaml() == job.read("job.yaml").yaml());
}
