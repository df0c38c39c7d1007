// What a configuration of kind segmentation says of volumes.
#include <headrace/apps/job/read_job.h>
#include <headrace/apps/jobs/jobs.h>
#include <headrace/apps/jobs/segmentation/config.h>
#include <headrace/engine/base/error.h>

#include <string>
#include <variant>

#include <doctest/doctest.h>

namespace headrace::app {
namespace {

std::string volume_yaml(const std::string& more = "") {
  return "kind: segmentation\ndata: {train: {source: volumes, folder: some}}\n" + more;
}

TrainingJob read_volumes(const std::string& text) {
  return read_training_text(jobs(), text, "job.yaml");
}

const SegmentationConfig& config_of(const TrainingJob& job) {
  return dynamic_cast<const SegmentationConfig&>(*job.config);
}

std::string volume_refusal(const std::string& text) {
  try {
    read_volumes(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

bool says(const std::string& text, const std::string& part) {
  const std::string said = volume_refusal(text);
  INFO(said);
  return said.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("volumes have defaults of their own, and every key of theirs comes back") {
  const TrainingJob job = read_volumes(volume_yaml());
  CHECK(config_of(job).volumes());
  CHECK(config_of(job).task.model.name == "plain_conv_unet");
  CHECK(config_of(job).training.batch == 2);
  CHECK(config_of(job).task.augment.size() == 2);
  CHECK(!config_of(job).mask_format());

  const TrainingJob said = read_volumes(volume_yaml(
      "volume:\n  spacing: [3, 1, 1.5]\n  crop: false\n"
      "  normalise: [{ct: {low: -10, high: 300, mean: 90, deviation: 40}}, zscore_nonzero]\n"
      "  store: there\n  patch: [16, 32, 48]\n  patches: 6\n  visit: 3\n"
      "  sampling: {foreground: 0.5, rule: rows, classes: [0, 2], most_ignored: 0.5, "
      "attempts: 3}\n  cache: 64MiB\n"
      "predict: {step: 0.25, validation_step: 0.5, mirror: [x, z], smallest: 20, "
      "largest_only: true, closing: 2}\naugment: []\n"
      "training: {batch: 3}\nmodel: {name: residual_encoder_unet}\n"));
  const TrainingJob again = read_volumes(said.yaml);
  CHECK(again.yaml == said.yaml);
  for (const TrainingJob* one : {&said, &again}) {
    const TaskSettings& task = config_of(*one).task;
    CHECK(task.volume.preparation.spacing == std::array<double, 3>{3, 1, 1.5});
    CHECK(!task.volume.preparation.crop);
    REQUIRE(task.volume.preparation.channels.size() == 2);
    CHECK(task.volume.preparation.channels[0] ==
          VolumeNormalization{.scheme = VolumeNormalization::Scheme::ct,
                              .low = -10,
                              .high = 300,
                              .mean = 90,
                              .deviation = 40});
    CHECK(task.volume.preparation.channels[1].scheme ==
          VolumeNormalization::Scheme::zscore_nonzero);
    CHECK(task.volume.patch == std::array<std::int64_t, 3>{16, 32, 48});
    CHECK(task.volume.patches == 6);
    CHECK(task.volume.visit == 3);
    CHECK(task.volume.sampling == PatchSampling{.foreground = 0.5,
                                                .forced = PatchSampling::Forced::by_row,
                                                .classes = {0, 2},
                                                .most_ignored = 0.5,
                                                .attempts = 3});
    CHECK(task.volume.cache.value == 64U << 20);
    CHECK(task.predict.volume.step == 0.25);
    CHECK(task.predict.volume.validation_step == 0.5);
    CHECK(mirrored_axes(task.predict.volume) == std::vector<std::int64_t>{2, 0});
    CHECK(task.predict.volume.smallest == 20);
    CHECK(task.predict.volume.largest_only);
    CHECK(task.predict.volume.closing == 2);
    CHECK(task.augment.empty());
    CHECK(config_of(*one).training.batch == 3);
    CHECK(task.model.name == "residual_encoder_unet");
  }
}

TEST_CASE("keys of pictures and of volumes exclude each other") {
  CHECK(says(volume_yaml("image: {size: 64}\n"), "image"));
  CHECK(says(volume_yaml("mask: {classes: [{name: a, values: [0]}]}\n"), "mask"));
  CHECK(says(volume_yaml("predict: {tta: [flip]}\n"), "predict.tta"));
  const std::string pictures =
      "kind: segmentation\ndata: {train: {source: pairs, folder: a, masks: b}}\n"
      "mask: {classes: [{name: a, values: [0]}, {name: b, values: [1]}]}\n";
  CHECK(volume_refusal(pictures).empty());
  CHECK(says(pictures + "volume: {patches: 2}\n", "volume"));
  CHECK(says(pictures + "predict: {step: 0.5}\n", "predict.step"));
}

TEST_CASE("what cannot be right about volumes is said") {
  CHECK(says(volume_yaml("volume: {spacing: [0, 1, 1]}\n"), "volume.spacing must be above 0"));
  CHECK(says(volume_yaml("volume: {normalise: []}\n"), "volume.normalise must have an entry"));
  CHECK(says(volume_yaml("volume: {normalise: [{ct: {low: 2, high: 2}}]}\n"), "low below high"));
  CHECK(says(volume_yaml("volume: {patches: 4, visit: 3}\n"),
             "multiple of volume.visit, got 4 and 3"));
  CHECK(says(volume_yaml("volume: {store: \"\"}\n"), "volume.store must name a folder"));
  CHECK(
      says(volume_yaml("predict: {mirror: [w]}\n"), "predict.mirror must be a list of z, y and x"));
  CHECK(says(volume_yaml("predict: {mirror: [x, x]}\n"), "each once, got \"x\""));
  CHECK(
      says("kind: segmentation\ndata: {train: {source: volumes, folder: a}, test: {source: "
           "pairs, folder: b, masks: c}}\n",
           "data.test.source must be volumes"));
  CHECK(says(
      "kind: segmentation\ndata: {train: {source: volumes, folder: a}, epoch_size: 8}\nvolume: "
      "{patches: 4, visit: 2}\n",
      "volume.visit must be 1"));
}

TEST_CASE("volumes may be validated and tested with data sets of their own") {
  const TrainingJob job = read_volumes(
      "kind: segmentation\ndata: {train: {source: volumes, folder: a}, validation: {source: "
      "volumes, folder: b}, test: {source: volumes, folder: c}, epoch_size: 8}\n");
  CHECK(config_of(job).task.data.validation.folder == "b");
  CHECK(config_of(job).task.data.test.folder == "c");
  CHECK(config_of(job).task.data.epoch_size == 8);
}

}  // namespace headrace::app
