#include <headrace/apps/jobs/jobs.h>
#include <headrace/apps/measure/whole_configuration.h>
#include <headrace/apps/view/setting_facts.h>
#include <headrace/engine/runtime/runtime.h>

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

using namespace headrace;

namespace {

monitor::SettingFacts facts_of(const std::string& text) {
  return app::setting_facts(app::read_training_text(app::jobs(), text, "job.yaml"));
}

}  // namespace

TEST_CASE("an advice's old values are those of the configuration, threads those that will run") {
  const monitor::SettingFacts facts = facts_of(
      "kind: glaucoma\ndata: {file: x.h5, prefetch: 3, resident: 1GiB}\n"
      "training: {batch: 24, accumulation: 2}\nthreads: {loader: 5}\n");
  CHECK(facts.loader_threads == 5);
  CHECK(facts.io_threads == 4);
  CHECK(facts.torch_threads == headrace::usable_cores());
  CHECK(facts.prefetch == 3);
  CHECK(facts.batch == 24);
  CHECK(facts.accumulation == 2);
  CHECK(facts.precision == "fp32");
  CHECK(facts.device == "auto");
  CHECK(facts.resident == 1ULL << 30);
  CHECK_FALSE(facts.has_cache);
}

TEST_CASE("keys are those that the kind has in use, by their paths") {
  const auto has = [](const monitor::SettingFacts& facts, const char* key) {
    return std::ranges::find(facts.keys, key) != facts.keys.end();
  };
  const monitor::SettingFacts rows =
      facts_of("kind: leak\ndata: {training: a.h5, validation: b.h5, testing: c.h5}\n");
  CHECK(has(rows, "training.batch"));
  CHECK(has(rows, "threads.loader"));
  CHECK_FALSE(has(rows, "data.cache.memory"));
  CHECK_FALSE(rows.can_cache);
  const monitor::SettingFacts pictures =
      facts_of("kind: classification\ndata: {train: {folder: x}, cache: {memory: 1GiB}}\n");
  CHECK(has(pictures, "data.cache.memory"));
  CHECK(pictures.can_cache);
  CHECK(pictures.has_cache);
}

TEST_CASE("a key that a stage has of its own is none of the configuration's") {
  const app::TrainingJob job = app::read_training_text(
      app::jobs(),
      "kind: glaucoma\ndata: {file: x.h5}\ntraining:\n  epochs: 7\n  batch: 12\n"
      "  stages:\n    - {name: one, epochs: 6, batch: 24, precision: bf16}\n"
      "    - {name: two, epochs: 5, accumulation: 2}\n",
      "job.yaml");
  const auto has = [](const monitor::SettingFacts& facts, const char* key) {
    return std::ranges::find(facts.keys, key) != facts.keys.end();
  };
  const monitor::SettingFacts all = app::setting_facts(job);
  for (const char* key : {"training.epochs", "training.batch", "training.accumulation"})
    CHECK_FALSE_MESSAGE(has(all, key), key);
  CHECK(has(all, "data.prefetch"));
  const auto stages = app::stage_setting_facts(job);
  REQUIRE(stages.size() == 2);
  CHECK(stages[0].batch == 24);
  CHECK(stages[0].precision == "bf16");
  CHECK(stages[0].accumulation == 1);
  CHECK_FALSE(has(stages[0], "training.epochs"));
  CHECK_FALSE(has(stages[0], "training.batch"));
  CHECK(stages[1].batch == 12);
  CHECK(stages[1].precision == "fp32");
  CHECK(stages[1].accumulation == 2);
  CHECK_FALSE(has(stages[1], "training.epochs"));
  CHECK(has(stages[1], "training.batch"));
  CHECK(
      app::stage_setting_facts(
          app::read_training_text(app::jobs(), "kind: glaucoma\ndata: {file: x.h5}\n", "job.yaml"))
          .empty());
}

TEST_CASE("a decoder draws where a random crop leads the list and whole pictures are not decoded") {
  const auto draws = [](const char* more) {
    return facts_of(std::string("kind: classification\ndata: {train: {folder: x}}\n") + more);
  };
  const monitor::SettingFacts drawn = draws("augment: [random_resized_crop]\n");
  CHECK(drawn.decode_draws);
  CHECK_FALSE(drawn.may_cache());
  CHECK(drawn.picture_resize == 256);
  CHECK_FALSE(draws("augment: [random_resized_crop]\nimage: {resize: 256}\n").decode_draws);
  CHECK_FALSE(draws("augment: [resized_center_crop]\n").decode_draws);
  CHECK(draws("augment: []\n").may_cache());
}

TEST_CASE("fewer epochs than the warm-up has are never to be had") {
  const monitor::SettingFacts facts = facts_of(
      "kind: leak\ndata: {training: a.h5, validation: b.h5, testing: c.h5}\n"
      "training: {epochs: 10, schedule: {cosine: {warmup_epochs: 4}}}\n");
  CHECK(facts.least_epochs == 4);
}

TEST_CASE("a configuration without a model has its keys and values, too") {
  const auto whole = app::read_whole_configuration(
      app::jobs(),
      app::parse_document("kind: loader\nbatch: 24\ndata: {rows: 8, prefetch: 3}\n", "l.yaml"));
  const monitor::SettingFacts facts = app::setting_facts(whole.full);
  CHECK(facts.batch == 24);
  CHECK(facts.prefetch == 3);
  CHECK(facts.io_threads == 4);
  CHECK(std::ranges::find(facts.keys, "data.prefetch") != facts.keys.end());
  CHECK(std::ranges::find(facts.keys, "threads.torch") == facts.keys.end());
}
