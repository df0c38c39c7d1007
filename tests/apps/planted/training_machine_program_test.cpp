// What a whole training says of a leak, and of a GPU that waits.
#include <headrace/tests/apps/planted/planted_training.h>

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace::test;

namespace {

namespace fs = std::filesystem;

std::string text_of(const nlohmann::json& advice, const char* key) {
  return advice.at(key).get<std::string>();
}

// A job whose own operation keeps what HEADRACE_TEST_LEAK says of each sample.
class LeakingTraining : public PlantedTraining {
 public:
  LeakingTraining()
      : PlantedTraining(
            "kind: quadrants\nseed: 3\ndevice: cpu\n"
            "training: {epochs: 8, batch: 16, evaluation_batch: 256}\n"
            "threads: {loader: 16, torch: 1}\n") {}
  Told told() const { return told_by(HEADRACE_LEAKING_PROGRAM, {"train", "job.yaml"}); }
};

// The stand-in as the library that a driver brings, whose first GPU is 12 % busy and has the
// training among its processes.
class IdleGpu {
 public:
  explicit IdleGpu(const fs::path& folder) : path_("LD_LIBRARY_PATH", folder.string()) {
    fs::create_symlink(HEADRACE_NVML_STAND_IN, folder / "libnvidia-ml.so.1");
  }

 private:
  Variable path_;
  Variable busy_{"HEADRACE_STAND_IN_BUSY", "12"};
};

}  // namespace

TEST_CASE("memory that an operation keeps is told with its owner, and a run without is not") {
  const LeakingTraining training;
  {
    const Variable leak("HEADRACE_TEST_LEAK", "20000");
    const Told told = training.told();
    CAPTURE(told.text());
    REQUIRE(told.says("process-grows"));
    CHECK_FALSE(told.says("tensors-grow"));
    for (const auto& one : told.advice) {
      if (one.at("rule") != "process-grows") continue;
      CHECK(contains(text_of(one, "verdict"), "held by the heap"));
      CHECK(one.at("setting") == "headrace profile-memory");
      // 4096 samples of it an epoch.
      CHECK(one.at("evidence").at("growth_per_epoch_bytes").get<double>() > 60e6);
    }
  }
  const Told calm = training.told();
  CAPTURE(calm.text());
  CHECK_FALSE(calm.says("process-grows"));
  CHECK_FALSE(calm.says("tensors-grow"));
}

TEST_CASE("a GPU below 30 % busy is warned of with its cause in the input") {
  struct Starved {
    const char* setting;
    const char* rule;
    const char* cause;
  };
  for (const Starved& starved :
       {Starved{"delay.decode=8ms", "raise-threads",
                "the cause: too few workers: decode delay holds the loader back"},
        Starved{"delay.read=30ms", "raise-io-threads",
                "the cause: storage: read holds the loader back"}}) {
    CAPTURE(starved.setting);
    const RowTraining training;
    const IdleGpu gpu(training.path());
    const Told told = training.told({starved.setting});
    CAPTURE(told.text());
    CAPTURE(told.err);
    REQUIRE(told.says(starved.rule));
    bool warned = false;
    for (const auto& one : told.advice) {
      const std::string verdict = text_of(one, "verdict");
      if (!verdict.starts_with("the GPU is busy 12 % of the time; ")) continue;
      warned = true;
      CHECK(one.at("rule") == starved.rule);
      CHECK(contains(verdict, starved.cause));
      CHECK(contains(verdict, "; not "));
    }
    CHECK(warned);
    CHECK(contains(told.err, "warning the GPU is busy 12 % of the time"));
  }
}
