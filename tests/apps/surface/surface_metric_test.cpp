#include <headrace/apps/jobs/surface/metric_torch.h>
#include <headrace/apps/jobs/surface/surface_settings.h>
#include <headrace/engine/base/error.h>
#include <headrace/training/metrics/metric.h>

#include "../../support/torch_doctest.h"

#include <array>
#include <cmath>
#include <vector>

#include <ATen/Functions.h>

namespace headrace {
using app::SurfaceMetric;
using app::VolumeDecision;

namespace {

// A plane of two voxels, z 5 and 6 of 12, in 12 x 10 x 10, and noise apart from it.
at::Tensor plane() {
  at::Tensor truth = at::zeros({1, 12, 10, 10}, at::kByte);
  truth.slice(1, 5, 7).fill_(1);
  return truth;
}

training::Cases cases_of(const at::Tensor& scores, const at::Tensor& truth) {
  training::Cases cases;
  cases.scores = scores.reshape({1, 1, 12, 10, 10});
  cases.example.targets.emplace("label", truth);
  return cases;
}

// Right above .4 alone: below it a plane beside, above .6 a part is missing.
at::Tensor scores_of_plane() {
  at::Tensor scores = plane().to(at::kFloat) * 0.6;
  scores.slice(1, 6, 7).fill_(0.55);
  scores.slice(1, 10, 11).fill_(0.3);
  return scores;
}

double figure(SurfaceMetric& metric, const char* name) {
  return training::figure(metric.result(), name);
}

}  // namespace

TEST_CASE("of the ways to decide the validation takes the one with the best surface Dice") {
  SurfaceMetric metric(
      {.candidates = {
           {.threshold = 0.2}, {.threshold = 0.4}, {.threshold = 0.5}, {.threshold = 0.58}}});
  metric.add(cases_of(scores_of_plane(), plane()));
  CHECK(figure(metric, "surface_dice_2") == 1.0);
  CHECK(figure(metric, "voxel_dice_2") == 1.0);
  CHECK(figure(metric, "dice") == 1.0);
  const VolumeDecision chosen =
      app::chosen_decision(std::array{metric.fitted()}, {{.threshold = 0.9}});
  CHECK(chosen == VolumeDecision{.threshold = 0.4,
                                 .of_prepared = true});  // the first of two that are as good
}

TEST_CASE("components are chosen, too, where a threshold alone is not enough") {
  at::Tensor scores = scores_of_plane();
  scores[0][10] = 0.9;  // brighter than the plane
  scores[0][10].slice(0, 3, 10).fill_(0.0);
  SurfaceMetric metric(
      {.candidates = {{.threshold = 0.4}, {.threshold = 0.4, .largest_only = true}}});
  metric.add(cases_of(scores, plane()));
  CHECK(app::chosen_decision(std::array{metric.fitted()}, {{}}).largest_only);
  CHECK(figure(metric, "surface_dice_2") == 1.0);
}

TEST_CASE("what is ignored counts in no figure, and would if it were background") {
  at::Tensor truth = plane();
  at::Tensor scores = plane().to(at::kFloat);
  scores[0].slice(0, 9, 12).fill_(1.0);
  truth[0].slice(0, 9, 12).fill_(2);
  SurfaceMetric metric({.candidates = {{.threshold = 0.5}}});
  metric.add(cases_of(scores, truth));
  for (const char* name : {"surface_dice_2", "voxel_dice_2", "dice", "iou"})
    CHECK(figure(metric, name) == 1.0);

  truth[0].slice(0, 9, 12).fill_(0);
  SurfaceMetric as_background({.candidates = {{.threshold = 0.5}}});
  as_background.add(cases_of(scores, truth));
  for (const char* name : {"surface_dice_2", "voxel_dice_2", "dice", "iou"})
    CHECK(figure(as_background, name) < 0.8);
}

TEST_CASE("of voxels the share within two of the other mask's is counted") {
  at::Tensor scores = at::zeros({1, 12, 10, 10});
  scores.slice(1, 8, 9).fill_(1.0);  // one voxel of it is 2 from the plane at z 6
  scores[0][11][0][0] = 1.0;         // far away
  SurfaceMetric metric({.candidates = {{.threshold = 0.5}}});
  metric.add(cases_of(scores, plane()));
  // 100 of 101 predicted voxels, and of the plane's 200 those at z 6.
  CHECK(figure(metric, "voxel_dice_2") == doctest::Approx(200.0 / 301.0));
}

TEST_CASE("the test has the leaderboard's score and its parts, over volumes") {
  const at::Tensor truth = plane();
  SurfaceMetric metric(
      {.candidates = {{.threshold = 0.5}}, .tolerances = {1.0, 2.0, 3.0}, .score = true});
  metric.add(cases_of(truth.to(at::kFloat), truth));
  for (const char* name : {"score", "topology", "topology_least", "topology_most", "surface_dice_1",
                           "surface_dice_2", "surface_dice_3"})
    CHECK_MESSAGE(figure(metric, name) == 1.0, name);
  CHECK(figure(metric, "voi") == 0.0);
  metric.add(cases_of(at::zeros({1, 12, 10, 10}), truth));
  CHECK(figure(metric, "surface_dice_2") == 0.5);
  CHECK(figure(metric, "score") < 0.85);
}

TEST_CASE("members decide by the median of what each has chosen") {
  const auto chosen = [](std::vector<double> values) {
    return training::TensorMap{{"decision", at::tensor(values, at::kDouble)}};
  };
  const std::array fitted{chosen({0.3, 0, 0, 1, 0}), chosen({0.5, 1, 600, 1, 3}),
                          chosen({0.4, 1, 600, 0, 0})};
  CHECK(app::chosen_decision(fitted, {{}}) == VolumeDecision{.smooth = 1.0,
                                                             .threshold = 0.4,
                                                             .smallest = 600,
                                                             .largest_only = true,
                                                             .closing = 0,
                                                             .of_prepared = true});
  CHECK(app::chosen_decision({}, {{.threshold = 0.2}, {.threshold = 0.45}, {.threshold = 0.8}}) ==
        VolumeDecision{.threshold = 0.45});
}

TEST_CASE("no way to decide, and a score of several, are refused") {
  CHECK_THROWS_AS(SurfaceMetric({}), ConfigError);
  CHECK_THROWS_AS(SurfaceMetric({.candidates = {{}, {}}, .score = true}), ConfigError);
}

TEST_CASE("over no volume there is no figure and no choice") {
  SurfaceMetric metric({.candidates = {{.threshold = 0.2}, {.threshold = 0.4}}});
  for (const auto& [name, value] : metric.result())
    CHECK_MESSAGE(std::isnan(value), name);
  CHECK(metric.fitted().empty());
}

}  // namespace headrace
