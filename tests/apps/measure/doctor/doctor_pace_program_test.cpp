// `headrace doctor` and `headrace tune` on real steps with planted delays: who is named, and what
// is gained. Part of the long tier: who is slow hangs on what else the machine does.
#include <headrace/tests/apps/measure/doctored_training.h>

#include <csignal>
#include <filesystem>
#include <sstream>
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

double rate(const nlohmann::json& found, const char* input) {
  return found.at("ceilings").at(input).at("samples_per_s");
}

}  // namespace

TEST_CASE(
    "the steps of three ceilings fill their windows, those of the device alone without a wait") {
  const DoctoredTraining job;
  const auto found = job.doctor({});
  for (const auto& [input, pace] : found.at("ceilings").items()) {
    CAPTURE(input);
    const auto& budget = pace.at("budget");
    const double wall = budget.at("wall_s");
    CHECK(wall <= pace.at("window_s").get<double>() * 1.02);
    CHECK(budget.at("steps").get<int>() >= 5);
  }
  CHECK(found.at("ceilings").at("device").at("budget").at("data_wait_s").get<double>() <
        0.05 * found.at("ceilings").at("device").at("budget").at("wall_s").get<double>());
}

TEST_CASE("doctor names the stage in which a delay was planted, and its key") {
  const DoctoredTraining job;
  const auto decode = job.doctor({"delay.decode=5ms"});
  CHECK(decode.at("limit") == "preparation");
  CHECK(decode.at("memory_verdict").at("stage") == "decode");
  CHECK(rate(decode, "memory") < 0.6 * rate(decode, "device"));
  CHECK(decode.at("prep_stall_share").get<double>() > 0.3);
  CHECK(contains(decode.at("to_do").get<std::string>(), "raise threads.loader 1 -> "));
  // As the training itself is told.
  job.done(DoctoredTraining::train(
      {"delay.decode=5ms", "training.epochs=1", "training.schedule.cosine.warmup_epochs=0"}));
  std::istringstream lines(content_of(job.only_run() / "advice.jsonl"));
  std::string line;
  REQUIRE(std::getline(lines, line));
  const auto told = nlohmann::json::parse(line);
  for (const char* key : {"rule", "setting", "old", "verdict"})
    CHECK(told.at(key) == decode.at("advice").at(key));
  const auto read = job.doctor({"delay.read=20ms"});
  CHECK(read.at("memory_verdict").at("stage") == "read");
  CHECK(contains(read.at("to_do").get<std::string>(), "raise threads.io 4 -> "));
}

TEST_CASE("doctor tells a training whose step is slow to leave its input alone") {
  const DoctoredTraining job;
  const auto found = job.doctor({}, "heavy.yaml");
  CHECK(found.at("limit") == "device");
  CHECK(contains(found.at("to_do").get<std::string>(), "stop tuning input"));
  CHECK(found.at("fetch_stall_share").get<double>() < 0.05);
}

TEST_CASE("doctor tells a slow stage of a pipeline without a model from its slow consumer") {
  const DoctoredTraining job;
  job.write_loader();
  const auto slow = job.doctor({"delay.decode=1ms", "delay.consumer=5ms"}, "loader.yaml");
  CHECK(slow.at("memory_verdict").at("stage") == "decode");
  const auto fast = job.doctor({"delay.consumer=20ms"}, "loader.yaml");
  CHECK(fast.at("limit") == "device");
}

TEST_CASE("tune finds a better configuration, writes it, and learns the same") {
  const DoctoredTraining job;
  const Finished finished =
      job.done({"tune", "job.yaml", "--seconds", "0.3", "--minutes", "0.2", "--set",
                "delay.decode=5ms", "--output", "best.yaml", "--json", "tune.json"});
  CHECK(contains(finished.out, "changed      threads.loader 1 -> "));
  const auto json = nlohmann::json::parse(content_of(job.path() / "tune.json"));
  CHECK(json.at("after_per_s").get<double>() > 1.2 * json.at("before_per_s").get<double>());
  const headrace::app::WholeConfiguration best = job.read("best.yaml");
  CHECK(best.number("threads.loader") > 1);
  CHECK(best.identity == job.read("job.yaml").identity);
  CHECK(best.value("delay.decode") == "5ms");
  // But for what was changed it is the file as it was.
  headrace::app::Node asked = best.asked;
  headrace::app::apply_override(asked, "threads.loader=1");
  for (const auto& change : json.at("changes"))
    headrace::app::apply_override(
        asked, change.at("key").get<std::string>() + "=" + change.at("old").get<std::string>());
  const headrace::app::WholeConfiguration back =
      headrace::app::read_whole_configuration(headrace::app::jobs(), asked);
  headrace::app::WholeConfiguration given = headrace::app::read_whole_configuration(
      headrace::app::jobs(), job.path() / "job.yaml", {"delay.decode=5ms"});
  CHECK(headrace::app::to_yaml(back.full) == headrace::app::to_yaml(given.full));
}

TEST_CASE("tune keeps to the cores it was given") {
  const DoctoredTraining job;
  const Finished finished =
      job.done({"tune", "job.yaml", "--seconds", "0.3", "--minutes", "0.1", "--cpu", "1", "--set",
                "delay.decode=5ms", "--json", "tune.json"});
  for (const auto& step : nlohmann::json::parse(content_of(job.path() / "tune.json")).at("steps"))
    if (step.at("change").at("key") == "threads.loader")
      CHECK(std::stoi(step.at("change").at("new").get<std::string>()) <= 4);
  CHECK(fs::exists(job.path() / "job.tuned.yaml"));
  CHECK(contains(finished.out, "job.tuned.yaml"));
}

TEST_CASE("tune that SIGINT stops writes what it has kept, and ends its trial") {
  const DoctoredTraining job;
  headrace::test::StartedProgram program(
      headrace::test::headrace_program(),
      {"tune", "job.yaml", "--seconds", "0.3", "--minutes", "100", "--set", "delay.decode=5ms"},
      {.folder = job.path()});
  REQUIRE(program.wait_until([&] { return contains(program.err(), ": kept\n"); }));
  program.signal(SIGINT);
  CHECK(program.wait() == 130);
  CHECK(contains(program.out(), "ended        it was stopped"));
  CHECK(contains(program.out(), "changed      "));
  const headrace::app::WholeConfiguration best = job.read("job.tuned.yaml");
  CHECK(best.identity == job.read("job.yaml").identity);
  CHECK(best.yaml() != job.read("job.yaml").yaml());
  CHECK((best.number("threads.loader") > 1 || best.number("data.prefetch") > 4));
}
