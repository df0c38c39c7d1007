// The entry `spatial` of a list `augment:`.
#include <headrace/apps/feed/augment.h>
#include <headrace/apps/feed/augment/operation.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/apps/started_program.h>

#include <functional>
#include <optional>
#include <string>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::contains;

namespace {

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("spatial says how patches are cut out, by default as nnU-Net does") {
  const auto of = [](const std::string& list) { return app::spatial_of(app::augment_list(list)); };
  CHECK_FALSE(of("[volume_noise]"));
  CHECK_FALSE(of("[]"));
  CHECK(of("[spatial]")->transform == SpatialTransform::nnunet());
  CHECK(of("[spatial, nnunet_intensity]")->labels == LabelSampling::one_hot);
  CHECK(of("[{spatial: {flat: true}}]")->transform == SpatialTransform::nnunet(true));
  const std::optional<app::SpatialEntry> all = of(
      "[{spatial: {rotation: 0.1, angles: [-20, 10], turns: one_axis, scaling: 0.3, scales: [0.6, "
      "1.2], same_scale: false, anisotropy: 0.4, anisotropies: [0.9, 1.1], elastic: 0.5, "
      "elastic_sigma: 7, elastic_voxels: [2, 3], mirror: [0, 0.25, 0.75], flat: true, labels: "
      "nearest}}]");
  CHECK(all->labels == LabelSampling::nearest);
  CHECK(all->transform == SpatialTransform{.rotation = 0.1,
                                           .angles = {-20.0, 10.0},
                                           .turns = SpatialTransform::Turns::one_axis,
                                           .scaling = 0.3,
                                           .scales = {0.6, 1.2},
                                           .same_scale = false,
                                           .anisotropy = 0.4,
                                           .anisotropies = {0.9, 1.1},
                                           .elastic = 0.5,
                                           .elastic_sigma = 7.0,
                                           .elastic_voxels = {2.0, 3.0},
                                           .mirror = {0.0, 0.25, 0.75},
                                           .flat = true});
}

TEST_CASE("spatial must be the first entry, and is no step of a pipeline") {
  const auto said = [](const std::string& list) {
    return refusal([&] { app::spatial_of(app::augment_list(list)); });
  };
  CHECK(contains(said("[volume_noise, spatial]"),
                 "[config] augment:1:25: entry \"spatial\" of augment: must be the first entry"));
  CHECK(
      contains(said("[spatial, spatial]"), "augment:1:20: entry \"spatial\" of augment: must be"));
  CHECK(contains(said("[{spatial: {scales: [1.4, 0.7]}}]"),
                 "[config] augment:1:12: entry \"spatial\" of augment: [spatial transform] scales "
                 "must rise"));
  CHECK(contains(refusal([] { app::make_augment_steps(app::augment_list("[spatial]"), {}); }),
                 "entry \"spatial\" of augment: is for volumes, whose patches are cut out as they "
                 "are read (kind: segmentation with data.train.source: volumes)"));
  const app::AugmentList rest = app::without_spatial(app::augment_list("[spatial, volume_noise]"));
  REQUIRE(rest.size() == 1);
  CHECK(rest.front().operation->name == "volume_noise");
}
