// What a whole training says of memory that an operation keeps.
#include <headrace/tests/apps/planted/planted_training.h>

#include <string>

#include <doctest/doctest.h>

using namespace headrace::test;

namespace {

// A job whose own operation keeps what HEADRACE_TEST_LEAK says of each sample.
class LeakingTraining : public PlantedTraining {
 public:
  LeakingTraining()
      : PlantedTraining(
            "kind: quadrants\nseed: 3\ndevice: cpu\n"
            "training: {epochs: 8, batch: 16, evaluation_batch: 256}\n"
            "threads: {loader: 16, torch: 1}\n") {}
  Told told() const { return told_by(headrace::test::leaking_program(), {"train", "job.yaml"}); }
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
