#include <headrace/apps/jobs/camouflage/measures_torch.h>
#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/saliency_measures.h>

#include "../../support/torch_doctest.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/upsample_bilinear2d.h>

namespace headrace {
using app::MaskMeasures;
using app::ObjectMask;

namespace {

constexpr std::int64_t pictures = 5;

// A square of its own in each picture, of 10 + number x 14 pixels.
ObjectMask square(std::int64_t picture) {
  ObjectMask mask{.height = 10 + picture, .width = 14};
  for (std::int64_t y = 0; y < mask.height; ++y)
    for (std::int64_t x = 0; x < mask.width; ++x)
      mask.pixels.push_back(y >= 2 && y < 7 && x >= picture && x < picture + 6 ? 1 : 0);
  return mask;
}

at::Tensor scores() {
  at::manual_seed(4);
  return at::rand({pictures, 1, 8, 8});
}

training::Cases scored_cases(const at::Tensor& scores, std::int64_t first) {
  training::Cases some{.scores = scores, .first = first};
  std::vector<std::int64_t> sizes;
  for (std::int64_t row = 0; row < scores.size(0); ++row)
    sizes.insert(sizes.end(), {10 + first + row, 14});
  some.example.picture_sizes = at::tensor(sizes, at::kLong).view({-1, 2});
  return some;
}

training::Figures figures_in(const std::vector<std::int64_t>& batches,
                             std::vector<std::int64_t> groups = {}) {
  MaskMeasures metric({.own_mask = square, .groups = std::move(groups)});
  std::int64_t first = 0;
  for (const std::int64_t rows : batches) {
    metric.add(scored_cases(scores().slice(0, first, first + rows), first));
    first += rows;
  }
  return metric.result();
}

}  // namespace

TEST_CASE("pictures are measured in the size of their masks, by the published measures") {
  models::SaliencyMeans means;
  double iou = 0.0;
  for (std::int64_t i = 0; i < pictures; ++i) {
    const ObjectMask mask = square(i);
    const at::Tensor own =
        at::upsample_bilinear2d(scores().slice(0, i, i + 1), {mask.height, mask.width}, false)
            .contiguous();
    const std::span<const float> values(own.const_data_ptr<float>(), mask.pixels.size());
    means.add(i,
              models::saliency_measures(models::SaliencyPair(
                  values, mask.pixels, {mask.height, mask.width}, models::SaliencyRange::min_max)));
    int both = 0;
    int either = 0;
    for (std::size_t p = 0; p < values.size(); ++p) {
      both += values[p] >= 0.5F && mask.pixels[p] != 0 ? 1 : 0;
      either += values[p] >= 0.5F || mask.pixels[p] != 0 ? 1 : 0;
    }
    iou += static_cast<double>(both) / either / pictures;
  }
  const training::Figures got = figures_in({5});
  const models::SaliencyFigures wanted = means.figures();
  CHECK(training::figure(got, "s_measure") == doctest::Approx(wanted.s_measure));
  CHECK(training::figure(got, "e_max") == doctest::Approx(wanted.e_max));
  CHECK(training::figure(got, "weighted_f") == doctest::Approx(wanted.weighted_f));
  CHECK(training::figure(got, "mae") == doctest::Approx(wanted.mae));
  // Of what is decided, nothing stretched.
  CHECK(training::figure(got, "iou") == doctest::Approx(iou));
  CHECK(std::isnan(training::figure(got, "iou_low")));  // nobody knows the animals
}

TEST_CASE("figures are the same bits whatever the batches") {
  const training::Figures whole = figures_in({5});
  for (const auto& batches : {std::vector<std::int64_t>{1, 1, 1, 1, 1}, {2, 3}, {4, 1}})
    CHECK(figures_in(batches) == whole);
  MaskMeasures other({.threshold = 0.4, .own_mask = square});
  other.add(scored_cases(scores(), 0));
  CHECK(other.result() != whole);
}

TEST_CASE("the lower end of IoU is by animals, and below the mean") {
  const training::Figures got = figures_in({2, 3}, {0, 0, 1, 1, 2});
  CHECK(training::figure(got, "iou_low") < training::figure(got, "iou"));
  CHECK(training::figure(got, "iou_low") > 0.0);
  CHECK(std::isnan(training::figure(figures_in({5}, {0, 0, 0, 0, 0}), "iou_low")));
}

TEST_CASE("rows that are absent are not looked at") {
  MaskMeasures metric({.own_mask = [](std::int64_t picture) {
    CHECK(picture != 2);
    return square(picture);
  }});
  training::Cases all = scored_cases(scores(), 0);
  all.example.present = at::arange(pictures) != 2;
  metric.add(all);
  CHECK(metric.result() != figures_in({5}));
}

TEST_CASE("a mask of another size is named, and nothing of its batch is counted") {
  bool spoilt = true;
  MaskMeasures metric({.own_mask = [&](std::int64_t picture) {
    return square(spoilt && picture == 3 ? 1 : picture);
  }});
  metric.add(scored_cases(scores().slice(0, 0, 2), 0));
  const training::Cases rest = scored_cases(scores().slice(0, 2), 2);
  CHECK_THROWS_WITH_AS(metric.add(rest), doctest::Contains("picture 3"), DataError);
  spoilt = false;
  metric.add(rest);
  CHECK(metric.result() == figures_in({5}));
}

TEST_CASE("cases without sizes of their own are compared with their targets") {
  MaskMeasures metric({.own_mask = square});
  const at::Tensor target = (scores() > 0.5).to(at::kFloat);
  training::Cases plain{.scores = scores()};
  plain.example.targets.emplace("mask", target);
  metric.add(plain);
  CHECK(training::figure(metric.result(), "iou") == 1.0);
}

}  // namespace headrace
