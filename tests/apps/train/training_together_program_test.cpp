// All keys of the section `training` at once, for every kind.
#include <headrace/tests/apps/glaucoma/data.h>
#include <headrace/tests/apps/key_runs.h>
#include <headrace/tests/apps/leak/leak_folder.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/torch_doctest.h>

#include <fstream>
#include <string>
#include <vector>

namespace {

using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::KeyFolder;
using headrace::test::KeyRun;
using headrace::test::LeakFolder;
using headrace::test::newest_checkpoint;
using headrace::test::TrainingFolder;

namespace fs = std::filesystem;

// `part` is frozen, unfrozen inside the first stage and trained in the second.
std::string all_keys(const std::string& part, const std::string& precision, bool norms = true) {
  return R"(training:
  batch: 8
  evaluation_batch: 5
  accumulation: 2
  optimizer: {sgd: {momentum: 0.9, nesterov: true}}
  learning_rate: 0.01
  weight_decay: 0.001
  decay_vectors: true
  groups: [{pattern: bias, rate_factor: 2, weight_decay: 0}]
  schedule: {one-cycle: {pct: 0.4, cycle_momentum: true}}
  clip: 1.0
  ema: 0.9
  checkpointed: ["*"]
  precision: )" +
         precision + R"(
  channels_last: true
  deterministic: true
  early_stopping: 5
  min_delta: 0.001
  non_finite: {reload: {factor: 0.5, times: 2}}
  checkpoint_every: 3
  stages:
    - {name: first, epochs: 2, frozen: [)" +
         part + "], unfreeze: [{at: 1, patterns: [" + part +
         R"(], rate_factor: 0.5, warmup: 2}]}
    - {name: second, epochs: 1, start: best, batch: 6, frozen_norms: )" +
         (norms ? "true" : "false") + R"(,
       schedule: {step: {every: 1, factor: 0.5}}}
)";
}

void check_all_used(const fs::path& run) {
  const std::string log = content_of(run / "log.txt");
  CHECK(contains(log, "epoch 1 unfreezes"));
  const std::string metrics = content_of(run / "metrics.csv");
  CHECK(contains(metrics, ",first,"));
  CHECK(contains(metrics, ",second,"));
  const headrace::training::Checkpoint last =
      headrace::training::read_checkpoint(newest_checkpoint(run));
  CHECK_FALSE(last.ema.empty());
  CHECK(last.progress.stage == 1);
  CHECK(fs::exists(run / "results.csv"));
}

void check_trained(const TrainingFolder& folder) {
  const Finished finished = folder.run({"train", "job.yaml"});
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  check_all_used(folder.only_run());
}

void write_job(const TrainingFolder& folder, const std::string& text) {
  std::ofstream(folder.path() / "job.yaml") << text;
}

constexpr const char* on_cpu = "seed: 7\ndevice: cpu\nthreads: {loader: 1, torch: 1}\n";

}  // namespace

TEST_CASE("vectors are classified with all keys at once, and a stopped run ends as another") {
  const KeyFolder folder(-1, all_keys("fc1", "fp16"));
  check_trained(folder);
  const fs::path cut = folder.stop_in_first_epoch("cut").run;
  folder.done({"train", "--resume", cut.string(), "--set", "delay.transfer=0ms"});
  CHECK(content_of(newest_checkpoint(cut)) == content_of(newest_checkpoint(folder.only_run())));
}

TEST_CASE("pictures are segmented with all keys at once") {
  const TrainingFolder folder;
  headrace::test::write_squares(folder.path() / "data/images", folder.path() / "data/masks", 30, 1);
  write_job(
      folder,
      on_cpu +
          std::string("kind: segmentation\n"
                      "data: {train: {folder: data/images, masks: data/masks}, listings: \"\"}\n"
                      "mask: {classes: [{name: ground}, {name: square}]}\n"
                      "loss: [cross_entropy, dice]\nimage: {size: 32}\n"
                      "model: {name: unet, width: 0.25, allow_random_frozen: true}\n") +
          all_keys("encoder.layer1", "bf16"));
  check_trained(folder);
}

TEST_CASE("the glaucoma job trains with all keys at once") {
  const TrainingFolder folder;
  headrace::test::write_glaucoma_data(folder.path() / "data.h5", 96, 24);
  write_job(folder, on_cpu +
                        std::string("kind: glaucoma\ndata: {file: data.h5, folds: 2}\n"
                                    "model: {allow_random_frozen: true}\n") +
                        all_keys("block1", "fp32"));
  check_trained(folder);
  folder.done(TrainingFolder::train(
      {"runs=other", "memory.measure=false",
       "training.stages=[{epochs: 1}, {epochs: 1, loss: {name: cross-entropy}}]"}));
  folder.done({"evaluate", "--checkpoint", folder.only_run("other").string(), "--data", "data.h5"});
}

TEST_CASE("the leak job trains with all keys at once") {
  const LeakFolder folder("augment: [spec_augment]\nmodel: {allow_random_frozen: true}\n" +
                          all_keys("conv1", "tf32", /*norms=*/false));
  check_trained(folder);
  const Finished normless = folder.run(
      TrainingFolder::train({"runs=none", "training.stages=null", "training.frozen_norms=true"}));
  CHECK(normless.status == 2);
  CHECK_MESSAGE(contains(normless.err, "frozen_norms: there must be norms"), normless.err);
}
