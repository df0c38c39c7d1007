#include <headrace/apps/job/read_job.h>
#include <headrace/apps/jobs/jobs.h>
#include <headrace/apps/jobs/surface/config.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/support/source_folder.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace headrace;
using app::SurfaceConfig;

std::shared_ptr<const SurfaceConfig> read(const std::vector<std::string>& settings) {
  const std::string yaml = "kind: surface\ndata: {train: {folder: a}}\n";
  return std::dynamic_pointer_cast<const SurfaceConfig>(
      app::read_training_text(app::jobs(), yaml, "job.yaml", settings).config);
}

void check_refused(const std::string& setting, const char* words) {
  CAPTURE(setting);
  CHECK_THROWS_WITH_AS(read({setting}), doctest::Contains(words), ConfigError);
}

std::int64_t terms_on(const SurfaceConfig& config, const std::string& output) {
  return std::ranges::count(config.task.loss, output, &app::LossEntry::on);
}

}  // namespace

TEST_CASE(
    "without keys the job is the original's: network, patch, steps and the terms of its loss") {
  const auto config = read({});
  CHECK(config->task.model.name == "residual_unet3d");
  CHECK(config->task.model.base == 40);
  CHECK(config->task.volume.patch == std::array<std::int64_t, 3>{72, 136, 136});
  CHECK(config->task.volume.sampling.foreground == 0.65);
  CHECK(config->training.clip == 0.8);
  CHECK(config->training.ema == 0.998);
  CHECK(config->task.selected_by == "surface_dice_2");
  std::vector<std::string> names;
  double at_full_size = 0.0;
  for (const app::LossEntry& entry : config->task.loss) {
    names.push_back(app::name_of(entry));
    if (entry.on == "main") at_full_size += entry.factor;
  }
  CHECK(names == std::vector<std::string>{"bce", "dice", "cldice", "skeleton", "surface_distance",
                                          "bce", "dice", "topology"});
  CHECK(at_full_size == doctest::Approx(0.95 + 0.001));
}

TEST_CASE("the composite is at full size, or as the original's at every one") {
  CHECK(terms_on(*read({}), "deep") == 2);
  CHECK(terms_on(*read({"composite=every-scale"}), "deep") == 5);
  CHECK(terms_on(*read({"model.deep_supervision=false"}), "deep") == 0);
  CHECK(terms_on(*read({"loss=[bce]", "composite=every-scale"}), "main") == 1);
}

TEST_CASE("of ways to decide there are all combinations, the plainest first") {
  const auto config =
      read({"decision={thresholds: [0.3, 0.5], smooth: [0, 1], keep: [all, "
            "largest], smallest: [0], closing: [0, 2]}"});
  const std::vector<app::VolumeDecision> made = app::candidates_of(config->decision);
  REQUIRE(made.size() == 16);
  CHECK(made.front() == app::VolumeDecision{.threshold = 0.3, .of_prepared = true});
  CHECK(made.back() == app::VolumeDecision{.smooth = 1.0,
                                           .threshold = 0.5,
                                           .largest_only = true,
                                           .closing = 2,
                                           .of_prepared = true});
  CHECK(app::to_string(made.back()) == "smoothed by 1, above 0.5, largest component, closed by 2");
}

TEST_CASE("what is no question of one sheet in volumes is refused") {
  check_refused("data.train={source: pairs, folder: a, masks: b}", "must be volumes");
  check_refused("decision.thresholds=[]", "decision.thresholds must be a list");
  check_refused("decision.smooth=[1, 0]", "the least first");
  check_refused("decision.keep=[some]", "all and largest, got \"some\"");
  check_refused("selected_by=mean_dice", "surface_dice_");
  check_refused("selected_by=surface_dice_1", "must be one of surface_dice_2");
  check_refused("selected_by=score", "must be one of surface_dice_2");
  check_refused("score.tolerances=[2, 40]", "31");
  check_refused("predict.smallest=600", "decision.smallest");
  check_refused("loss=[bce, {topology: {side: 16}}]",
                "the side of betti_targets in augment, 32, got 16");
  check_refused("loss=[bce, {topology: {side: 32}}, {topology: {side: 32}}]", "topology once");
  check_refused("loss=[bce, {cldice: {iterations: 5}}]", "iterations and by of soft_skeleton");
  check_refused("score.tolerances=[]", "score.tolerances must be a list");
  check_refused("model.hidden=[4]", "model.hidden");
  check_refused("loss=[topology]", "beside");
}

TEST_CASE("keys of residual_unet3d are of it alone") {
  check_refused("model={name: plain_conv_unet, base: 8}", "model.name is residual_unet3d");
  CHECK(read({"model.base=32", "model.blocks=2"})->task.model.base == 32);
}

TEST_CASE("the configurations that come along can be read") {
  for (const char* name : {"full", "demo", "smoke"}) {
    CAPTURE(name);
    const auto file = std::filesystem::path(headrace::test::source_folder()) / "configs/surface" /
                      (std::string(name) + ".yaml");
    CHECK_NOTHROW(app::read_training_job(app::jobs(), file, {}));
  }
}
