#include <headrace/apps/feed/loader_job.h>
#include <headrace/apps/jobs/tones/data.h>

#include <doctest/doctest.h>

using namespace headrace;

TEST_CASE("a tone is the same whenever it is read, and another in each set") {
  const app::TonesConfig config;
  const auto bytes = [&](std::int64_t set, std::int64_t index) {
    Sample sample;
    app::Tones(config, 16, set).read(index, sample);
    const auto values = sample["sound"].values<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  CHECK(bytes(0, 3) == bytes(0, 3));
  CHECK(bytes(0, 3) != bytes(1, 3));
  CHECK(bytes(0, 3) != bytes(0, 3 + config.data.pitches));
}

TEST_CASE("the bench of tones runs whole batches of sounds and pitches") {
  app::TonesConfig config;
  config.data.sounds = 100;
  Loader loader = config.loader_job().build();
  int batches = 0;
  for (Batch& batch : loader.epoch(0)) {
    CHECK(batch["sound"].shape() == Shape{config.training.batch, 1, app::tone_values});
    CHECK(batch["label"].dtype() == DType::int64);
    ++batches;
  }
  CHECK(batches == 1);
}
