#include <headrace/apps/jobs/jobs.h>
#include <headrace/apps/measure/fitted_job.h>
#include <headrace/apps/measure/memory_switches.h>

#include <string>

#include <doctest/doctest.h>

using namespace headrace::app;

namespace {

TrainingJob job_of(const std::string& text) {
  return read_training_text(jobs(), "kind: glaucoma\ndata: {file: x.h5}\n" + text, "job.yaml");
}

TrainingJob fitted(const TrainingJob& job, const std::vector<StageChange>& changes) {
  return read_training_text(jobs(), fitted_yaml(job, changes), "fitted");
}

}  // namespace

TEST_CASE("a change is made in the section training where a run has one stage") {
  const TrainingJob job =
      fitted(job_of("training: {batch: 32}\n"), {{.batch = 8, .accumulation = 4}});
  CHECK(job.config->training.batch == 8);
  CHECK(job.config->training.accumulation == 4);
}

TEST_CASE("a change is made in the stage that needs it, and in no other") {
  const TrainingJob job = fitted(
      job_of("training: {batch: 32, evaluation_batch: 64, stages: [{name: a, epochs: 1}, {name: b, "
             "epochs: 2, batch: 16}]}\n"),
      {{}, {.batch = 8, .accumulation = 2, .evaluation_batch = 4}});
  REQUIRE(job.config->stages.size() == 2);
  CHECK(job.config->stages[0]->training.batch == 32);
  CHECK(job.config->stages[0]->training.evaluation_batch == 64);
  CHECK(job.config->stages[1]->training.batch == 8);
  CHECK(job.config->stages[1]->training.accumulation == 2);
  CHECK(job.config->stages[1]->training.evaluation_batch == 4);
}

TEST_CASE("a key is switched in every stage that has its own, and nothing is switched twice") {
  const TrainingJob job =
      job_of("training: {stages: [{name: a, epochs: 1, precision: fp32}, {name: b, epochs: 2}]}\n");
  const auto yaml = yaml_with(job, "training.precision", "bf16");
  REQUIRE(yaml);
  const TrainingJob switched = read_training_text(jobs(), *yaml, "switched");
  for (const auto& stage : switched.config->stages)
    CHECK(stage->training.precision == headrace::training::Precision::bf16);
  CHECK_FALSE(yaml_with(switched, "training.precision", "bf16"));
  CHECK_FALSE(yaml_with(job, "training.unknown", "1"));
}

TEST_CASE("a stage's own value is switched where that of the section is the same already") {
  const TrainingJob job = job_of(
      "training: {batch: 64, stages: [{name: a, epochs: 1}, {name: b, epochs: 2, batch: 16}]}\n");
  const auto yaml = yaml_with(job, "training.batch", "64");
  REQUIRE(yaml);
  const TrainingJob switched = read_training_text(jobs(), *yaml, "switched");
  for (const auto& stage : switched.config->stages)
    CHECK(stage->training.batch == 64);
}

TEST_CASE("only what a configuration has, and has not yet, can be switched") {
  const auto names = [](const std::string& text) {
    std::string all;
    for (const MemorySwitch& one : switches_of(job_of(text)))
      all += one.setting() + ' ';
    return all;
  };
  CHECK(names("") == "training.checkpointed=['*'] training.precision=bf16 ");
  CHECK(names("training: {checkpointed: ['*'], precision: bf16, ema: 0.9}\n") ==
        "training.ema=0.0 ");
}

TEST_CASE("pictures can be eleven twelfths of their size, or half, where that is not the same") {
  const auto sizes = [](const std::string& size) {
    const TrainingJob job = read_training_text(
        jobs(), "kind: classification\ndata: {train: {folder: x}}\nimage: {size: " + size + "}\n",
        "job.yaml");
    std::string all;
    for (const MemorySwitch& one : switches_of(job))
      if (one.path == "image.size") all += one.what + ' ';
    return all;
  };
  CHECK(sizes("384") == "size 352 size 192 ");
  CHECK(sizes("224") == "size 192 size 96 ");
  CHECK(sizes("64") == "size 32 ");
  CHECK(sizes("32").empty());
}

TEST_CASE("memory is a size or a map of keys") {
  const TrainingJob size = job_of("memory: 10GiB\n");
  CHECK(size.config->memory.limit->value == 10ULL << 30);
  const TrainingJob map = job_of("memory: {limit: 1GiB, gpu: 2GiB, fit: true, measure: false}\n");
  CHECK(map.config->memory.limit->value == 1ULL << 30);
  CHECK(map.config->memory.gpu->value == 2ULL << 30);
  CHECK(map.config->memory.fit);
  CHECK_FALSE(map.config->memory.measure);
  CHECK_FALSE(job_of("memory: null\n").config->memory.limit);
  const TrainingJob again = read_training_text(jobs(), size.yaml, "written");
  CHECK(again.config->memory.limit->value == 10ULL << 30);
}
