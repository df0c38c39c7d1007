// What predictions become: masks of a picture's size, and how wrong they are.
#include <headrace/apps/backend/gallery_torch.h>
#include <headrace/apps/predict/mask_writer_torch.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/support/temporary_folder.h>

#include "../../support/torch_doctest.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <ATen/ops/argmax.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/upsample_bilinear2d.h>

namespace headrace {

namespace {

// The largest score decides.
class Largest final : public training::Recipe {
 public:
  monitor::MemoryForecast plan() override { return {}; }
  std::uint64_t open() override { return 0; }
  std::unique_ptr<training::Course> begin(const training::Member&) const override {
    return nullptr;
  }
};

// Of each label whether it is there.
class Several final : public training::Recipe {
 public:
  monitor::MemoryForecast plan() override { return {}; }
  std::uint64_t open() override { return 0; }
  std::unique_ptr<training::Course> begin(const training::Member&) const override {
    return nullptr;
  }
  at::Tensor predicted(const at::Tensor& scores,
                       std::span<const training::TensorMap>) const override {
    return scores >= 0.5;
  }
};

// Every case shows a picture of one grey.
class Grey final : public training::Course {
 public:
  std::unique_ptr<models::Network> network() const override { return nullptr; }
  Pipeline train(const training::Stage&, const training::Feed&) const override {
    throw ConfigError("nothing is trained");
  }
  Pipeline evaluation(training::Split, const training::Feed&) const override {
    throw ConfigError("nothing is read");
  }
  std::vector<training::Term> loss(const training::Output&, const training::Example&,
                                   const training::Moment&) const override {
    return {};
  }
  std::unique_ptr<training::Metric> metric(training::Split,
                                           const training::TensorMap&) const override {
    return nullptr;
  }
  at::Tensor pictures(const training::Example& example) const override {
    return at::full({example.targets.begin()->second.size(0), 2, 3, 3}, 90, at::kByte);
  }
};

training::Cases cases(const at::Tensor& scores, const at::Tensor& target) {
  training::Cases one{.scores = scores, .example = {.targets = {{"target", target}}}};
  for (std::int64_t row = 0; row < scores.size(0); ++row)
    one.origins.push_back({.file = std::to_string(row) + ".png"});
  return one;
}

std::vector<double> badness(const training::Recipe& recipe, const at::Tensor& scores,
                            const at::Tensor& target) {
  const auto judged = app::judge(recipe, cases(scores, target), {});
  REQUIRE(judged.has_value());
  const at::Tensor values = judged->badness.to(at::kDouble).contiguous();
  return {values.const_data_ptr<double>(), values.const_data_ptr<double>() + values.numel()};
}

}  // namespace

TEST_CASE("classes of a mask are those of LibTorch's bilinear scores, whatever the size") {
  at::manual_seed(1);
  const Largest recipe;
  const at::Tensor scores = at::rand({4, 24, 32});
  for (const auto& [height, width] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {24, 32}, {300, 401}, {129, 7}, {5, 128}, {1, 1}, {256, 32}}) {
    CAPTURE(height);
    const at::Tensor whole =
        at::upsample_bilinear2d(scores.unsqueeze(0), {height, width}, false).argmax(1).squeeze(0);
    const at::Tensor found = app::classes_at(recipe, scores, {}, height, width);
    CHECK((found.sizes() == whole.sizes()));
    // Where two classes are as good as equal, rounding decides.
    CHECK((found != whole).sum().item<std::int64_t>() * 10000 <= height * width);
  }
}

TEST_CASE("what is wrong is as bad as it is sure") {
  using Values = std::vector<double>;
  const at::Tensor scores = at::tensor({.9F, .1F, .2F, .8F, .6F, .4F}).view({3, 2});
  const Values found = badness(Largest(), scores, at::tensor({0, 0, 1}, at::kLong));
  CHECK(found[0] == 0.0);
  CHECK(found[1] == doctest::Approx(.8));
  CHECK(found[2] == doctest::Approx(.6));

  const at::Tensor labels = at::tensor({1.F, 0.F, 1.F, 1.F, 0.F, 0.F}).view({3, 2});
  const Values several = badness(Several(), scores, labels);
  CHECK(several[0] == 0.0);
  CHECK(several[1] == doctest::Approx(.8));
  CHECK(several[2] == doctest::Approx(.6));
}

TEST_CASE("a mask is as bad as its Dice is low, over the classes that are there or predicted") {
  // Two pictures of four pixels, three classes; the second has a pixel that counts nowhere.
  const at::Tensor said = at::tensor({0, 1, 1, 2, 0, 0, 2, 1}, at::kLong).view({2, 2, 2});
  const at::Tensor truth = at::tensor({0, 1, 2, 2, 0, 0, 2, 255}, at::kLong).view({2, 2, 2});
  const at::Tensor scores =
      (said.unsqueeze(1) == at::tensor({0, 1, 2}, at::kLong).view({1, 3, 1, 1})).to(at::kFloat);
  const std::vector<double> found = badness(Largest(), scores, truth);
  CHECK(found[0] == doctest::Approx(1.0 - (2.0 / 3.0 + 2.0 / 3.0) / 2.0));
  CHECK(found[1] == 0.0);
}

TEST_CASE("a gallery keeps the worst, the worst first, and some from all over the test") {
  const Largest recipe;
  const Grey course;
  app::GalleryKeeper keeper(recipe, course, {},
                            {.classes = {"cat", "dog"}, .records = 6, .worst = 2, .some = 3});
  const at::Tensor first = at::tensor({.1F, .9F, .3F, .7F, .6F, .4F}).view({3, 2});
  keeper.add(cases(first, at::tensor({0, 0, 0}, at::kLong)));
  training::Cases second = cases(at::tensor({.2F, .8F, .95F, .05F, .0F, 1.F}).view({3, 2}),
                                 at::tensor({0, 1, 1}, at::kLong));
  second.first = 3;
  keeper.add(second);
  const app::Gallery gallery = keeper.result();
  CHECK(gallery.records == 6);
  REQUIRE(gallery.worst.size() == 2);
  CHECK(gallery.worst[0].predicted == "cat 0.95");
  CHECK(gallery.worst[0].truth == "dog");
  CHECK(gallery.worst[0].file == "1.png");
  CHECK(gallery.worst[1].predicted == "dog 0.90");
  CHECK((gallery.worst[1].picture.rgb == std::vector<std::uint8_t>(18, 90)));
  REQUIRE(gallery.some.size() == 3);
  CHECK(gallery.some[1].predicted == "cat 0.60");
  CHECK(gallery.some[1].badness == 0.0);
}

TEST_CASE(
    "a picture that is unread or has NaN among its scores has no mask, at the end none of before") {
  const test::TemporaryFolder folder;
  for (const char* name : {"b.png", "d.png"})
    std::ofstream(folder.path() / name) << "of another network";
  const Largest recipe;
  app::MaskWriter writer(recipe, app::MaskFolder(folder.path(), true), {.values = {0, 1}});
  at::Tensor scores = at::full({4, 2, 4, 4}, 0.5);
  scores[1][0][2][3] = std::nan("");
  training::Cases cases{
      .scores = scores,
      .origins = {{.file = "a.jpg"}, {.file = "b.jpg"}, {.file = "c.jpg"}, {.file = "d.jpg"}},
      .unread = {3}};
  cases.example.picture_sizes = at::full({4, 2}, 6, at::kLong);
  writer.add(cases, {});
  CHECK(std::filesystem::exists(folder.path() / "b.png"));
  writer.finish();
  CHECK(std::filesystem::exists(folder.path() / "a.png"));
  CHECK_FALSE(std::filesystem::exists(folder.path() / "b.png"));
  CHECK_FALSE(std::filesystem::exists(folder.path() / "d.png"));
  CHECK(std::filesystem::exists(folder.path() / "c.png"));
  CHECK(writer.no_numbers().cases == 1);
  CHECK(writer.no_numbers().first == "b.jpg");
}

}  // namespace headrace
