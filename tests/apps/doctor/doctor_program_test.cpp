// `headrace doctor` and `headrace tune` on real steps: planted delays sleep, so that a busy machine
// changes nothing about who is slow.
#include <headrace/apps/doctor/whole_configuration.h>
#include <headrace/apps/jobs/jobs.h>
#include <headrace/tests/apps/classification/array_data.h>
#include <headrace/tests/apps/glaucoma/data.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/support/content_of.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

namespace app = headrace::app;
namespace fs = std::filesystem;
using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using Words = std::vector<std::string>;

// job.yaml has a network whose step takes next to nothing, heavy.yaml one that takes its time.
class Job : public headrace::test::TrainingFolder {
 public:
  Job()
      : TrainingFolder(
            "kind: classification\nseed: 7\ndevice: cpu\ndata:\n"
            "  train: {source: npy, file: x.npy, labels: y.npy}\narray: {normalise: none}\n"
            "model: {name: mlp}\ntraining: {batch: 8}\nthreads: {loader: 1, torch: 1}\n") {
    constexpr int records = 400;
    std::vector<std::int32_t> labels;
    for (int i = 0; i < records; ++i)
      labels.push_back(i % 2);
    headrace::test::write_array<float>(path() / "x.npy", "400, 6",
                                       headrace::test::array_rows(records, 6, 2));
    headrace::test::write_array<std::int32_t>(path() / "y.npy", "400,", labels);
    std::ofstream(path() / "heavy.yaml")
        << "kind: glaucoma\nseed: 7\ndevice: cpu\ndata: {file: data.h5}\n"
           "training: {batch: 16, member: 0}\nthreads: {loader: 1, torch: 1}\n";
    headrace::test::write_glaucoma_data(path() / "data.h5", 400, 40);
  }

  nlohmann::json doctor(const Words& settings, const std::string& file = "job.yaml") const {
    Words words{"doctor", file, "--seconds", "0.3", "--json", "doctor.json"};
    for (const std::string& setting : settings)
      words.insert(words.end(), {"--set", setting});
    const Finished finished = done(words);
    for (const char* line : {"memory ", "storage ", "fetch stall", "\nto do "})
      CHECK_MESSAGE(contains(finished.out, line), line << "\n" << finished.out);
    return nlohmann::json::parse(content_of(path() / "doctor.json"));
  }

  app::WholeConfiguration read(const std::string& file) const {
    app::WholeConfiguration whole = app::read_whole_configuration(app::jobs(), path() / file, {});
    return whole;
  }
};

double rate(const nlohmann::json& found, const char* input) {
  return found.at("ceilings").at(input).at("samples_per_s");
}

std::set<fs::path> files_in(const fs::path& folder) {
  return {fs::directory_iterator(folder), fs::directory_iterator()};
}

}  // namespace

TEST_CASE("doctor measures three ceilings of real steps and writes nothing") {
  const Job job;
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
    CHECK(wall <= pace.at("window_s").get<double>() * 1.02);
    CHECK(budget.at("steps").get<int>() >= 5);
    CHECK(pace.at("stage") == "train");
  }
  CHECK(found.at("ceilings").at("device").at("budget").at("data_wait_s").get<double>() <
        0.05 * found.at("ceilings").at("device").at("budget").at("wall_s").get<double>());
}

TEST_CASE("doctor names the stage in which a delay was planted, and its key") {
  const Job job;
  const auto decode = job.doctor({"delay.decode=5ms"});
  CHECK(decode.at("limit") == "preparation");
  CHECK(decode.at("memory_verdict").at("stage") == "decode");
  CHECK(rate(decode, "memory") < 0.6 * rate(decode, "device"));
  CHECK(decode.at("prep_stall_share").get<double>() > 0.3);
  CHECK(contains(decode.at("to_do").get<std::string>(), "raise threads.loader 1 -> "));
  // As the training itself is told.
  job.done(Job::train(
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
  const Job job;
  const auto found = job.doctor({}, "heavy.yaml");
  CHECK(found.at("limit") == "device");
  CHECK(contains(found.at("to_do").get<std::string>(), "stop tuning input"));
  CHECK(found.at("fetch_stall_share").get<double>() < 0.05);
}

TEST_CASE("doctor finds two ceilings of a pipeline without a model") {
  const Job job;
  std::ofstream(job.path() / "loader.yaml")
      << "kind: loader\nbatch: 64\ndata: {source: synthetic, rows: 20000, row_bytes: 64}\n"
         "threads: {loader: 1}\n";
  const auto slow = job.doctor({"delay.decode=1ms", "delay.consumer=5ms"}, "loader.yaml");
  CHECK(slow.at("ceilings").size() == 2);
  CHECK(slow.at("memory_verdict").at("stage") == "decode");
  CHECK(contains(slow.at("ceilings").at("storage").at("storage").get<std::string>(),
                 "storage is memory"));
  const auto fast = job.doctor({"delay.consumer=20ms"}, "loader.yaml");
  CHECK(fast.at("limit") == "device");
}

TEST_CASE("doctor ends with the code of what is wrong") {
  const Job job;
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

TEST_CASE("tune finds a better configuration, writes it, and learns the same") {
  const Job job;
  const Finished finished =
      job.done({"tune", "job.yaml", "--seconds", "0.3", "--minutes", "0.2", "--set",
                "delay.decode=5ms", "--output", "best.yaml", "--json", "tune.json"});
  CHECK(contains(finished.out, "changed      threads.loader 1 -> "));
  const auto json = nlohmann::json::parse(content_of(job.path() / "tune.json"));
  CHECK(json.at("after_per_s").get<double>() > 1.2 * json.at("before_per_s").get<double>());
  const app::WholeConfiguration best = job.read("best.yaml");
  CHECK(best.number("threads.loader") > 1);
  CHECK(best.identity == job.read("job.yaml").identity);
  CHECK(best.value("delay.decode") == "5ms");
  // But for what was changed it is the file as it was.
  app::Node asked = best.asked;
  app::apply_override(asked, "threads.loader=1");
  for (const auto& change : json.at("changes"))
    app::apply_override(
        asked, change.at("key").get<std::string>() + "=" + change.at("old").get<std::string>());
  const app::WholeConfiguration back = app::read_whole_configuration(app::jobs(), asked);
  app::WholeConfiguration given =
      app::read_whole_configuration(app::jobs(), job.path() / "job.yaml", {"delay.decode=5ms"});
  CHECK(app::to_yaml(back.full) == app::to_yaml(given.full));
}

TEST_CASE("tune keeps to the cores it was given and refuses what cannot be") {
  const Job job;
  const Finished finished =
      job.done({"tune", "job.yaml", "--seconds", "0.3", "--minutes", "0.1", "--cpu", "1", "--set",
                "delay.decode=5ms", "--json", "tune.json"});
  for (const auto& step : nlohmann::json::parse(content_of(job.path() / "tune.json")).at("steps"))
    if (step.at("change").at("key") == "threads.loader")
      CHECK(std::stoi(step.at("change").at("new").get<std::string>()) <= 4);
  CHECK(fs::exists(job.path() / "job.tuned.yaml"));
  CHECK(contains(finished.out, "job.tuned.yaml"));
  const auto status = [&](const Words& more) {
    Words words{"tune", "job.yaml", "--seconds", "0.2", "--minutes", "0.1"};
    words.insert(words.end(), more.begin(), more.end());
    return job.run(words).status;
  };
  CHECK(status({"--cpu", "4096"}) == 2);
  CHECK(status({"--output", "job.yaml"}) == 2);
  CHECK(status({"--allow", "loss"}) == 2);
  CHECK(status({"--memory", "20MiB"}) == 4);
  CHECK(status({"--set", "data.train.file=none.npy"}) == 2);
}

TEST_CASE("tune that SIGINT stops writes what it has kept, and ends its trial") {
  const Job job;
  headrace::test::StartedProgram program(
      HEADRACE_PROGRAM,
      {"tune", "job.yaml", "--seconds", "0.3", "--minutes", "100", "--set", "delay.decode=5ms"},
      {.folder = job.path()});
  REQUIRE(program.wait_until([&] { return contains(program.err(), ": kept\n"); }));
  program.signal(SIGINT);
  CHECK(program.wait() == 130);
  CHECK(contains(program.out(), "ended        it was stopped"));
  CHECK(contains(program.out(), "changed      "));
  const app::WholeConfiguration best = job.read("job.tuned.yaml");
  CHECK(best.identity == job.read("job.yaml").identity);
  CHECK(best.yaml() != job.read("job.yaml").yaml());
  CHECK((best.number("threads.loader") > 1 || best.number("data.prefetch") > 4));
}

TEST_CASE("tune that SIGINT stops in a trial of hours does not wait for it") {
  const Job job;
  headrace::test::StartedProgram program(
      HEADRACE_PROGRAM, {"tune", "job.yaml", "--seconds", "3600"}, {.folder = job.path()});
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
