// What is said of memory before the first step, and what comes of it.
#include <headrace/tests/apps/glaucoma/data.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/support/content_of.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using headrace::test::best_weights;
using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::run_program;

using Words = std::vector<std::string>;

class PlannedTraining : public headrace::test::TrainingFolder {
 public:
  explicit PlannedTraining(std::int64_t train_rows = 200)
      : TrainingFolder(
            "kind: glaucoma\nseed: 7\ndevice: cpu\ndata:\n  file: data.h5\ntraining:\n"
            "  epochs: 1\n  batch: 32\n  evaluation_batch: 32\n  member: 0\n"
            "threads:\n  loader: 1\n  torch: 1\n") {
    headrace::test::write_glaucoma_data(path() / "data.h5", train_rows, 40);
  }

  nlohmann::json profile(Words words, std::size_t data_limit = 0) const {
    words.insert(words.begin(),
                 {"profile-memory", "job.yaml", "--no-switches", "--json", "profile.json"});
    const Finished finished = run_program(headrace::test::headrace_program(), words,
                                          {.folder = path(), .data_limit = data_limit});
    REQUIRE_MESSAGE(finished.status == 0, finished.err);
    return nlohmann::json::parse(content_of(path() / "profile.json"));
  }
  double forecast(std::size_t data_limit = 0) const {
    return profile({}, data_limit).at("stages").at(0).at("host_bytes");
  }
};

// While it lives, programs that are started have a heap that gives back what is free: else two
// measurements differ by what it happens to keep, by 60 MiB and more on a machine full of other
// work.
class HeapThatGivesBack {
 public:
  HeapThatGivesBack() {
    ::setenv("MALLOC_ARENA_MAX", "1", 1);
    ::setenv("MALLOC_MMAP_THRESHOLD_", "131072", 1);
    ::setenv("MALLOC_TRIM_THRESHOLD_", "131072", 1);
  }
  ~HeapThatGivesBack() {
    ::unsetenv("MALLOC_ARENA_MAX");
    ::unsetenv("MALLOC_MMAP_THRESHOLD_");
    ::unsetenv("MALLOC_TRIM_THRESHOLD_");
  }
  HeapThatGivesBack(const HeapThatGivesBack&) = delete;
  HeapThatGivesBack& operator=(const HeapThatGivesBack&) = delete;
};

std::string memory_of(double bytes) {
  return "memory=" + std::to_string(static_cast<std::uint64_t>(bytes)) + "B";
}

}  // namespace

TEST_CASE("a limit of forecast + 10 % is enough for a training, at - 20 % nothing is begun") {
  const PlannedTraining job;
  const double forecast = job.forecast();
  const Finished enough = job.run(PlannedTraining::train({memory_of(1.1 * forecast)}));
  CHECK_MESSAGE(enough.status == 0, enough.err);
  CHECK(job.runs().size() == 1);
  const Finished little = job.run(PlannedTraining::train({memory_of(0.8 * forecast)}));
  CHECK(little.status == 4);
  CHECK(contains(little.err, "[memory] stage train must fit the limit of "));
  CHECK(contains(little.err, "missing"));
  CHECK(job.runs().size() == 1);
}

TEST_CASE("so it is under RLIMIT_DATA, where address space counts") {
  const PlannedTraining job;
  const double forecast = job.forecast(64ULL << 30);
  const auto limited = [&](double share) {
    return run_program(
        headrace::test::headrace_program(), PlannedTraining::train({}),
        {.folder = job.path(), .data_limit = static_cast<std::size_t>(share * forecast)});
  };
  const Finished enough = limited(1.1);
  CHECK_MESSAGE(enough.status == 0, enough.err);
  const Finished little = limited(0.8);
  CHECK_MESSAGE(little.status == 4, little.err);
  CHECK(contains(little.err, "[memory]"));
  CHECK(job.runs().size() == 1);
}

TEST_CASE("networks whose kernels keep scratch fit what was said under RLIMIT_DATA, too") {
  const headrace::test::TrainingFolder folder;
  headrace::test::write_png_pictures(folder.path() / "data", 60);
  std::ofstream(folder.path() / "job.yaml")
      << "kind: classification\ndevice: cpu\ndata: {train: {folder: data}, listings: \"\"}\n"
         "model: {name: resnet18}\nimage: {size: 32}\nthreads: {torch: 2}\n"
         "training: {batch: 16, evaluation_batch: 16, epochs: 4}\n";
  const auto limited = [&](Words words, double limit) {
    return run_program(headrace::test::headrace_program(), words,
                       {.folder = folder.path(), .data_limit = static_cast<std::size_t>(limit)});
  };
  const Finished profiled =
      limited({"profile-memory", "job.yaml", "--no-switches", "--json", "profile.json"}, 64e9);
  REQUIRE_MESSAGE(profiled.status == 0, profiled.err);
  const auto stages =
      nlohmann::json::parse(content_of(folder.path() / "profile.json")).at("stages");
  const double forecast = stages.at(0).at("host_bytes");
  const Finished enough = limited(PlannedTraining::train({}), 1.1 * forecast);
  CHECK_MESSAGE(enough.status == 0, enough.err);
  const Finished little = limited(PlannedTraining::train({}), 0.8 * forecast);
  CHECK_MESSAGE(little.status == 4, little.err);
}

TEST_CASE("under a limit the decoders of a training take less, as those of an evaluation do") {
  const headrace::test::TrainingFolder folder;
  headrace::test::write_png_pictures(folder.path() / "data", 60);
  std::ofstream(folder.path() / "job.yaml")
      << "kind: classification\ndevice: cpu\ndata: {train: {folder: data}, listings: \"\"}\n"
         "model: {name: resnet18}\nimage: {size: 32}\nmemory: {limit: 2GiB, measure: false}\n"
         "threads: {loader: 2}\ntraining: {batch: 16}\n";
  const Finished profiled = folder.run({"profile-memory", "job.yaml", "--json", "profile.json"});
  REQUIRE_MESSAGE(profiled.status == 0, profiled.err);
  const auto parts = nlohmann::json::parse(content_of(folder.path() / "profile.json"))
                         .at("stages")
                         .at(0)
                         .at("parts")
                         .at("host");
  // An eighth of the memory, and what pictures of this size take beside it.
  constexpr double mib = 1 << 20;
  for (const char* loader : {"training", "evaluation"})
    CHECK(parts.at(std::string(loader) + ": working memory of steps").get<double>() / mib ==
          doctest::Approx(256.0).epsilon(0.02));
}

TEST_CASE("a stage that does not fit is made to with memory.fit, and the run keeps how") {
  const HeapThatGivesBack heap;
  const PlannedTraining job(700);
  const nlohmann::json stage = job.profile({"--set", "training.batch=512"}).at("stages").at(0);
  const auto all = stage.at("host_bytes").get<double>();
  const auto row = stage.at("line").at("row_bytes").get<double>();
  // Less than 512 rows take, more than 256.
  const std::string limit = memory_of(all - 128.0 * row);
  const Finished refused = job.run(PlannedTraining::train({"training.batch=512", limit}));
  CHECK(refused.status == 4);
  CHECK_MESSAGE(
      contains(refused.err,
               "more memory is not needed, the nearest change that fits: training.batch=256, "
               "training.accumulation=2 (the same effective batch)"),
      refused.err);
  const std::string fit = "memory={limit: " + limit.substr(7) + ", fit: true}";
  const Finished fitted = job.run(PlannedTraining::train({"training.batch=512", fit}));
  REQUIRE_MESSAGE(fitted.status == 0, fitted.err);
  CHECK(contains(fitted.err, "memory.fit: stage train has training.batch=256"));
  const std::string kept = content_of(job.only_run() / "config.yaml");
  CHECK(contains(kept, "batch: 256\n"));
  CHECK(contains(kept, "accumulation: 2\n"));
}

TEST_CASE("a run that goes on is not fitted anew, and keeps its configuration") {
  const PlannedTraining job;
  REQUIRE(job.run(PlannedTraining::train({"training.epochs=2", "memory={limit: 8GiB, fit: true}"}))
              .status == 0);
  const std::string run = job.only_run().string();
  const std::string before = content_of(job.only_run() / "config.yaml");
  const auto least = 0.8 * job.forecast();
  const Finished little =
      job.run({"train", "--resume", run, "--set", "memory.limit=" + memory_of(least).substr(7)});
  CHECK(little.status == 4);
  CHECK(content_of(job.only_run() / "config.yaml") == before);
}

TEST_CASE("where nothing fits it is said how much the least takes, and that this is not enough") {
  const PlannedTraining job;
  // What is counted fits, what a step takes beside it does not.
  const auto counted = job.profile({"--set", "memory.measure=false"})
                           .at("stages")
                           .at(0)
                           .at("host_bytes")
                           .get<double>();
  const std::string limit = memory_of(counted + (1 << 20));
  const Finished refused = job.run(PlannedTraining::train({limit}));
  CHECK(refused.status == 4);
  CHECK_MESSAGE(contains(refused.err, "more memory is needed, "), refused.err);
  CHECK_MESSAGE(contains(refused.err, " at least: even a batch of 2"), refused.err);
  CHECK(contains(refused.err, "trying all of these together"));
  CHECK(job.runs().empty());
}

TEST_CASE("one member stays one member where its stage is made to fit") {
  const HeapThatGivesBack heap;
  const PlannedTraining job;
  const nlohmann::json stage = job.profile({"--set", "training.batch=128"}).at("stages").at(0);
  const auto row = stage.at("line").at("row_bytes").get<double>();
  const std::string limit = memory_of(stage.at("host_bytes").get<double>() - 40.0 * row);
  const std::string fit = "memory={limit: " + limit.substr(7) + ", fit: true}";
  Words words = PlannedTraining::train({"training.batch=128", "training.member=null", fit});
  words.insert(words.end(), {"--member", "1"});
  const Finished fitted = job.run(words);
  REQUIRE_MESSAGE(fitted.status == 0, fitted.err);
  CHECK_MESSAGE(contains(fitted.err, "memory.fit: stage train has training.batch="), fitted.err);
  CHECK(std::filesystem::exists(job.only_run() / "checkpoints/fold-1"));
  CHECK_FALSE(std::filesystem::exists(job.only_run() / "checkpoints/fold-0"));
}

TEST_CASE("no folder for temporary files is needed to measure") {
  const PlannedTraining job;
  ::setenv("TMPDIR", "/nonexistent", 1);
  const Finished finished = job.run(PlannedTraining::train({}));
  ::unsetenv("TMPDIR");
  CHECK_MESSAGE(finished.status == 0, finished.err);
  CHECK_FALSE(contains(finished.err, "is not in the plan"));
}

TEST_CASE("a program whose standard streams are closed measures and trains as any other") {
  for (const char* closed : {">&-", "2>&-", "<&- >&- 2>&-"}) {
    const PlannedTraining job;
    const std::string line = std::string("exec '") + headrace::test::headrace_program() +
                             "' train job.yaml --set data.file=data.h5 " + closed;
    const Finished finished = run_program("/bin/sh", {"-c", line}, {.folder = job.path()});
    CAPTURE(closed);
    CHECK(finished.status == 0);
    CHECK_FALSE(contains(content_of(job.only_run() / "log.txt"), "is not in the plan"));
  }
}

TEST_CASE("a second stage that takes more is seen before the first") {
  const PlannedTraining job;
  const auto stages = [](const std::string& second) {
    return "training.stages=[{name: warm, epochs: 1, batch: 8}, {name: all, epochs: 1, batch: " +
           second + "}]";
  };
  const nlohmann::json profiled = job.profile({"--set", stages("128")}).at("stages");
  REQUIRE(profiled.size() == 2);
  const auto first = profiled.at(0).at("host_bytes").get<double>();
  const auto second = profiled.at(1).at("host_bytes").get<double>();
  REQUIRE(second > 1.1 * first);
  const Finished refused =
      job.run(PlannedTraining::train({stages("128"), memory_of((first + second) / 2)}));
  CHECK(refused.status == 4);
  CHECK(contains(refused.err, "[memory] stage all must fit the limit of "));
  CHECK(job.runs().empty());
}

TEST_CASE("what the first stage leaves in the process counts with those behind it") {
  const PlannedTraining job;
  const std::string same = "{name: a, epochs: 1}, {name: b, epochs: 1}, {name: c, epochs: 1}";
  // Now and then the heap leaves a fifth less; a plan that forgot what it leaves would always.
  int even = 0;
  for (int round = 0; round < 5 && even < 2; ++round) {
    const nlohmann::json stages =
        job.profile({"--set", "training.stages=[" + same + "]"}).at("stages");
    REQUIRE(stages.size() == 3);
    const auto beside = [&stages](std::size_t i) {
      return stages.at(i).at("parts").at("host").at("LibTorch beside tensors").get<double>();
    };
    REQUIRE(beside(0) > 0.0);
    if (std::min(beside(1), beside(2)) > 0.8 * beside(0)) ++even;
  }
  CHECK(even == 2);
}

TEST_CASE("a run keeps what was measured, and measuring can be left out") {
  const PlannedTraining job;
  REQUIRE(job.run(PlannedTraining::train({})).status == 0);
  const std::filesystem::path kept = job.only_run() / "memory.json";
  REQUIRE(std::filesystem::exists(kept));
  const auto stage = nlohmann::json::parse(content_of(kept)).at("stages").at(0);
  CHECK(stage.at("points").at(0).at("rows") == 32);
  const Finished without = job.run(PlannedTraining::train({"memory.measure=false", "runs=others"}));
  REQUIRE(without.status == 0);
  CHECK(contains(without.err, "what activations take is not in the plan: memory.measure is false"));
  CHECK_FALSE(std::filesystem::exists(job.only_run("others") / "memory.json"));
  CHECK(best_weights(job.only_run()) == best_weights(job.only_run("others")));
}

TEST_CASE("the end of a run says whether its goals were met") {
  const PlannedTraining job;
  const Finished finished = job.run(
      PlannedTraining::train({"goals={ram: 1MiB, gpu_memory: 6GiB}", "memory.measure=false"}));
  REQUIRE(finished.status == 0);
  CHECK(contains(finished.out, "goal ram: at most 1.00 MiB, held "));
  CHECK(contains(finished.out, ": FAIL\n"));
  CHECK(contains(finished.out, "goal gpu_memory: at most 6.00 GiB, not judged: no GPU was used\n"));
  CHECK(contains(content_of(job.only_run() / "log.txt"), "goal ram: at most 1.00 MiB"));
}

TEST_CASE("a finished run that is resumed keeps what came of its goals") {
  const PlannedTraining job;
  job.done(PlannedTraining::train(
      {"goals={ram: 1MiB, data_wait: 1.0, time: 10h}", "memory.measure=false"}));
  const std::filesystem::path run = job.only_run();
  const auto goals = [&] {
    return nlohmann::json::parse(content_of(run / "result.json")).at("goals");
  };
  const nlohmann::json before = goals();
  CHECK(before.at(0).at("result") == "fail");
  CHECK(before.at(2).at("result") == "pass");
  job.done({"train", "--resume", run.string()});
  CHECK(goals() == before);
}

TEST_CASE("a goal that is missed is an exit code where that is wanted, once the run is saved") {
  const PlannedTraining job;
  const std::vector<std::string> words = PlannedTraining::train(
      {"goals={data_wait: 1.0, cpu_spikes: 1000000, accuracy: 0.0}", "memory.measure=false"});
  std::vector<std::string> strict = words;
  strict.emplace_back("--require-goals");
  const Finished reached = job.run(strict);
  CHECK(reached.status == 0);
  CHECK(contains(reached.out, "goal data_wait: at most 100 %, came "));
  strict.insert(strict.end(), {"--set", "goals.accuracy=1.01", "--set", "runs=others"});
  const Finished missed = job.run(strict);
  CHECK(missed.status == 8);
  CHECK(contains(missed.out, "goal accuracy: at least 1.0100, came "));
  CHECK(contains(missed.err, "it ends with exit code 8 (goals) for what it missed: accuracy"));
  CHECK(best_weights(job.only_run()) == best_weights(job.only_run("others")));
  const auto result =
      nlohmann::json::parse(content_of(job.only_run("others") / "result.json")).at("goals");
  REQUIRE(result.size() == 3);
  CHECK(result.at(0).at("result") == "pass");
  CHECK(result.at(2).at("result") == "fail");
}

TEST_CASE("the batch that is found runs under the limit, and the next size does not") {
  const PlannedTraining job;
  const nlohmann::json stage = job.profile({}).at("stages").at(0);
  CHECK(stage.at("switches").empty());
  const auto row = stage.at("line").at("row_bytes").get<double>();
  const std::string limit = memory_of(stage.at("host_bytes").get<double>() + 100.0 * row);
  const nlohmann::json found = job.profile({"--find-optimal", "--set", limit}).at("stages").at(0);
  const nlohmann::json& largest = found.at("largest");
  CHECK(largest.at("fits") == true);
  CHECK(largest.at("steps") == 50);
  CHECK(largest.at("rows") > 32);
  CHECK(found.at("next").at("rows") > largest.at("rows"));
  CHECK(found.at("next").at("fits") == false);
  CHECK(contains(found.at("settings").get<std::string>(), "--set training.batch="));
}

TEST_CASE("a verdict is given where there is no room to measure, and for each stage") {
  const PlannedTraining job;
  const nlohmann::json none = job.profile({"--set", "memory=1MiB"}).at("stages").at(0);
  CHECK(contains(none.at("verdict").get<std::string>(), "is not enough, by "));
  const nlohmann::json stages =
      job.profile({"--batch-size", "16", "--set",
                   "training.stages=[{name: warm, epochs: 1}, {name: all, epochs: 1, batch: 8}]"})
          .at("stages");
  REQUIRE(stages.size() == 2);
  for (const nlohmann::json& stage : stages) {
    CHECK(stage.at("batch") == 16);
    CHECK(contains(stage.at("verdict").get<std::string>(), "is enough: batch 16"));
  }
}

TEST_CASE("each switch that a configuration has is measured") {
  const PlannedTraining job;
  job.done({"profile-memory", "job.yaml", "--json", "profile.json", "--set", "training.ema=0.99",
            "--set", "training.precision=fp32"});
  const auto profiled = nlohmann::json::parse(content_of(job.path() / "profile.json"));
  const nlohmann::json& switches = profiled.at("stages").at(0).at("switches");
  const auto of = [&switches](const std::string& what) -> nlohmann::json {
    for (const nlohmann::json& one : switches)
      if (one.at("what") == what) return one;
    return nullptr;
  };
  const nlohmann::json averaged = of("no averaged weights");
  REQUIRE(averaged.contains("bytes"));
  CHECK(averaged.at("setting") == "training.ema=0.0");
  CHECK(averaged.at("bytes").get<double>() < averaged.at("bytes_without").get<double>());
  const nlohmann::json half = of("precision bf16");
  REQUIRE(half.contains("bytes"));
  CHECK(half.at("bytes").get<double>() < half.at("bytes_without").get<double>());
  CHECK(half.at("step").get<double>() > 0.0);
  CHECK(of("no deep supervision").is_null());  // which this kind does not have
}

TEST_CASE("a card that is not there can be asked about, and a stage that is not is refused") {
  const PlannedTraining job;
  const nlohmann::json large = job.profile({"--card", "16GiB"});
  CHECK(large.at("limit_by") == "95 % of a card of 16.0 GiB");
  CHECK(contains(large.at("stages").at(0).at("verdict").get<std::string>(), "is enough: batch 32"));
  const nlohmann::json small = job.profile({"--card", "1MiB"});
  CHECK(contains(small.at("stages").at(0).at("verdict").get<std::string>(), "is not enough, by "));
  const Finished wrong = job.run({"profile-memory", "job.yaml", "--stage", "tarin"});
  CHECK(wrong.status == 2);
  CHECK(contains(wrong.err, "--stage must be one of train, got \"tarin\""));
}
