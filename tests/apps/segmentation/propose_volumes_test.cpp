// `headrace new segmentation` on nnU-Net's raw layout.
#include <headrace/apps/job/read_job.h>
#include <headrace/apps/jobs/jobs.h>
#include <headrace/apps/jobs/segmentation/config.h>
#include <headrace/apps/jobs/segmentation/nnunet_planning.h>
#include <headrace/apps/jobs/segmentation/propose.h>
#include <headrace/apps/new/propose_configuration.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/loaders/volume/nnunet_raw_files.h>

#include <cmath>
#include <string>
#include <variant>

#include <doctest/doctest.h>

namespace headrace::app {
namespace {

using Scheme = VolumeNormalization::Scheme;

SegmentationConfig proposed(const FolderQuestion& question) {
  const std::optional<Proposal> proposal = propose_volumes(question);
  REQUIRE(proposal);
  return dynamic_cast<const SegmentationConfig&>(*proposal->config);
}

}  // namespace

TEST_CASE("with a GPU the proposal is nnU-Net's plan and its trainer") {
  const test::NnUNetRawFiles files;
  const NnUNetPlanning planning = plan_nnunet_data(files.path());
  const NnUNetConfiguration& plan = *planning.plans.fullres;
  const SegmentationConfig config =
      proposed({.data = files.path(), .gpu = true, .gpu_memory = 8.0});
  const VolumeSettings& volume = config.task.volume;
  CHECK(config.task.data.train.folder == files.path());
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::size_t planned = planning.plans.transpose_backward[axis];
    CHECK(volume.patch[axis] == plan.patch_size[planned]);
    CHECK(volume.preparation.spacing[axis] == plan.spacing[planned]);
  }
  CHECK(config.training.batch == plan.batch_size);
  CHECK(config.task.model.width == 1.0);

  REQUIRE(volume.preparation.channels.size() == 2);
  const NnUNetForegroundValues& ct = planning.fingerprint.intensity[0];
  CHECK(volume.preparation.channels[0] == VolumeNormalization{.scheme = Scheme::ct,
                                                              .low = ct.percentile_00_5,
                                                              .high = ct.percentile_99_5,
                                                              .mean = ct.mean,
                                                              .deviation = ct.std});
  CHECK(volume.preparation.channels[1].scheme == Scheme::zscore_nonzero);

  CHECK(std::get<training::SgdRule>(config.training.optimizer).momentum == 0.99);
  CHECK(config.training.epochs == 1000);
  CHECK(config.training.clip == 12.0);
  CHECK(config.task.predict.volume.mirror.size() == 3);
  // 250 steps, of the 3 of 4 cases that are trained on.
  CHECK(volume.patches == (250 * plan.batch_size + 2) / 3);
  CHECK(config.task.data.split.validation == 0.25);
  CHECK(config.task.data.split.test == 0.0);
}

TEST_CASE("the terms of the loss are nnU-Net's weights") {
  const test::NnUNetRawFiles files;
  const SegmentationConfig config = proposed({.data = files.path(), .gpu = true});
  double sum = 0.0;
  for (const LossEntry& entry : config.task.loss) {
    CHECK((entry.on == "main" || entry.on == "deep"));
    sum += entry.factor;
  }
  CHECK(sum == doctest::Approx(2.0));
}

TEST_CASE("without a GPU patch and network are small, and the reasons say so") {
  const test::NnUNetRawFiles files;
  const SegmentationConfig config = proposed({.data = files.path()});
  CHECK(config.task.model.width == 0.25);
  CHECK(config.training.epochs < 100);
  const std::string text =
      propose_configuration(jobs(), "segmentation", {.data = files.path()}, {.threads = 1}).yaml;
  CHECK(text.find("cases to train on: 4; channels: 2") != std::string::npos);
  CHECK(text.find("there is no GPU") != std::string::npos);
  const TrainingJob read = read_training_text(jobs(), text, "new.yaml");
  const auto& again = dynamic_cast<const SegmentationConfig&>(*read.config);
  CHECK(again.volumes());
  CHECK(again.task.volume.patch == config.task.volume.patch);
  CHECK(again.task.volume.preparation == config.task.volume.preparation);
  CHECK(again.task.augment.size() == 2);
  read.config->check();
}

TEST_CASE("a single case is trained on without a validation") {
  const test::NnUNetRawFiles files;
  for (int which = 1; which < test::NnUNetRawFiles::cases; ++which) {
    for (int channel = 0; channel < 2; ++channel)
      std::filesystem::remove(files.image(which, channel));
    std::filesystem::remove(files.label(which));
  }
  files.write_json(
      R"({"channel_names": {"0": "CT", "1": "PET"},
          "labels": {"background": 0, "organ": 1, "tumour": 2},
          "numTraining": 1, "file_ending": ".nii.gz"})");
  const SegmentationConfig config = proposed({.data = files.path()});
  CHECK(config.task.data.split.validation == 0.0);
  CHECK(config.training.early_stopping == 0);
}

TEST_CASE("what is no raw layout is not proposed for, and what cannot be is said") {
  const test::TemporaryFolder folder;
  CHECK(!propose_volumes({.data = folder.path()}));
  const test::NnUNetRawFiles files;
  files.write_json(
      R"({"channel_names": {"0": "CT", "1": "PET"},
          "labels": {"background": 0, "whole": [1, 2], "tumour": 2},
          "regions_class_order": [1, 2], "numTraining": 4, "file_ending": ".nii.gz"})");
  CHECK_THROWS_WITH_AS(propose_volumes({.data = files.path()}),
                       doctest::Contains("classes must not overlap"), ConfigError);
  const test::TemporaryFolder pictures;
  CHECK_THROWS_WITH_AS(
      propose_configuration(jobs(), "segmentation", {.data = pictures.path(), .gpu_memory = 4.0},
                            {.threads = 1}),
      doctest::Contains("--gpu-memory is of volumes"), ConfigError);
}

}  // namespace headrace::app
