// Keys of the section `training` whose effect shows on a GPU alone reach the stage.
#include <headrace/apps/job/read_job.h>
#include <headrace/apps/job/stage_torch.h>
#include <headrace/apps/jobs/jobs.h>

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace headrace {

namespace {

std::vector<training::Stage> stages(const std::vector<std::string>& settings) {
  const std::string yaml =
      "kind: classification\ndata: {train: {source: npy, file: a.npy, labels: b.npy}}\n"
      "model: {name: mlp}\n";
  return app::stages_of(*app::read_training_text(app::jobs(), yaml, "a test", settings).config);
}

}  // namespace

TEST_CASE("the layout of a network and cuDNN's modes reach the stage") {
  const training::Stage plain = stages({}).front();
  CHECK(plain.channels_last);
  CHECK_FALSE(plain.cudnn_benchmark);
  CHECK_FALSE(plain.deterministic);
  CHECK_FALSE(stages({"training.channels_last=false"}).front().channels_last);
  CHECK(stages({"training.cudnn_benchmark=true"}).front().cudnn_benchmark);
  CHECK(stages({"training.deterministic=true"}).front().deterministic);
}

TEST_CASE("a stage of a list may have modes of its own, but not a layout") {
  const auto both = stages({"training.stages=[{deterministic: true}, {cudnn_benchmark: true}]"});
  REQUIRE(both.size() == 2);
  CHECK(both[0].deterministic);
  CHECK_FALSE(both[1].deterministic);
  CHECK(both[1].cudnn_benchmark);
  CHECK(both[1].number == 1);
  CHECK_THROWS_WITH_AS(stages({"training.stages=[{channels_last: true}, {channels_last: false}]"}),
                       doctest::Contains("channels_last"), ConfigError);
}

}  // namespace headrace
