#include <headrace/apps/job/read_job.h>
#include <headrace/apps/jobs/camouflage/config.h>
#include <headrace/apps/jobs/jobs.h>
#include <headrace/apps/task/mask_settings.h>
#include <headrace/engine/base/error.h>

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace headrace;
using app::CamouflageConfig;

std::shared_ptr<const CamouflageConfig> read(const std::vector<std::string>& settings) {
  const std::string yaml =
      "kind: camouflage\ndata: {train: {source: pairs, folder: a, masks: b}}\n";
  return std::dynamic_pointer_cast<const CamouflageConfig>(
      app::read_training_text(app::jobs(), yaml, "job.yaml", settings).config);
}

void check_refused(const std::string& setting, const char* words) {
  CAPTURE(setting);
  CHECK_THROWS_WITH_AS(read({setting}), doctest::Contains(words), ConfigError);
}

}  // namespace

TEST_CASE("without keys the job is the original's: network, loss and steps") {
  const auto config = read({});
  CHECK(config->task.model.name == "camoxpert");
  CHECK(config->task.image.decode.side == 384);
  REQUIRE(config->task.loss.size() == 4);
  CHECK(app::name_of(config->task.loss[0]) == "bce");
  CHECK(config->task.loss[0].factor == 5.0);
  CHECK(config->task.loss[3].on == "deep");
  CHECK(config->training.batch == 2);
  CHECK(config->training.accumulation == 4);
  CHECK(config->training.clip == 1.0);
  CHECK(config->mask_format()->values == std::vector<std::uint16_t>{0, 255});
}

TEST_CASE("experts are the network's kinds, and without deep supervision nothing is learnt by it") {
  CHECK(read({})->task.model.experts == 7);
  CHECK(read({"model.name=camoxpert_lean"})->task.model.experts == 4);
  CHECK(read({"model.experts=5"})->task.model.experts == 5);
  const auto shallow = read({"model.deep_supervision=false"});
  CHECK(shallow->task.loss.size() == 3);
  for (const auto& entry : shallow->task.loss)
    CHECK(entry.on == "main");
}

TEST_CASE("what is no question of one mask is refused") {
  check_refused("loss=[cross_entropy]", "take bce");
  check_refused("predict.threshold=fitted", "{at: 0.5}");
  check_refused("selected_by=mean_dice", "iou");
  check_refused("data.train={source: volumes, folder: a}", "kind: segmentation");
}

TEST_CASE("a frozen backbone without weights is refused, unless a key lets it pass") {
  const std::string stages = "training.stages=[{name: decoder, epochs: 1, frozen: [backbone.]}]";
  check_refused(stages, "model.allow_random_frozen");
  CHECK(read({stages, "model.allow_random_frozen=true"})->stages.size() == 1);
}
