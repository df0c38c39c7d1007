#include <headrace/augment/mix.h>
#include <headrace/augment/normalize.h>
#include <headrace/models/losses/cross_entropy.h>

#include "trainer_run.h"

using namespace headrace::training;
using doctest::Approx;

namespace {

// Pictures of bytes with a label of their class.
class Pictures final : public headrace::Source {
 public:
  std::string name() const override { return "pictures"; }
  std::int64_t size() const override { return 8; }
  headrace::Schema fields() const override {
    return {headrace::FieldSpec::fixed("image", headrace::DType::uint8, {4, 4, 3}),
            headrace::FieldSpec::fixed("label", headrace::DType::int64, {})};
  }
  void read(std::int64_t index, headrace::Sample& sample) const override {
    auto* bytes = sample.make("image", headrace::DType::uint8, {4, 4, 3}).data<std::uint8_t>();
    std::fill(bytes, bytes + 48, static_cast<std::uint8_t>(30 * index));
    sample.set_scalar<std::int64_t>("label", index % 3);
  }
};

Example mixed(int classes, const ImageFields& fields) {
  auto loader = headrace::Pipeline::from(Pictures{})
                    .batch({.size = 8})
                    .then(headrace::MixBatch{.cutmix_alpha = 0.0, .classes = classes, .seed = 3})
                    .build();
  const headrace::NextBatch next = loader.next();
  const Example example = unpack_images(fields)(next.batch, at::kCPU);
  return {.inputs = {{"image", example.inputs.at("image").clone()}},
          .targets = {{"label", example.targets.at("label").clone()}},
          .rows = example.rows,
          .mixed = example.mixed};
}

const ImageFields fields{.rows_are_hwc = true, .classes = 3};

}  // namespace

TEST_CASE("what Mixup made of labels reaches the loss, as shares or as lambda and partner") {
  const Example shares = mixed(3, fields);
  const Example partners = mixed(0, fields);
  const at::Tensor soft = shares.targets.at("label");
  CHECK(soft.sizes() == at::IntArrayRef{8, 3});
  CHECK(((soft > 0.0) & (soft < 1.0)).any().item<bool>());
  CHECK(at::allclose(soft, partners.targets.at("label"), 1e-6, 1e-6));
  CHECK(partners.mixed);

  const at::Tensor logits = at::randn({8, 3});
  for (const double gamma : {0.0, 2.0}) {
    CAPTURE(gamma);
    const at::Tensor log_p = logits.log_softmax(1);
    const at::Tensor each = (1.0 - log_p.exp()).pow(gamma) * -log_p;
    const double expected = (each * soft).sum(1).mean().item<double>();
    CHECK(headrace::models::focal_loss(logits, soft, {.gamma = gamma}).item<double>() ==
          Approx(expected).epsilon(1e-5));
    // Taken as its largest class, as before, the loss is another.
    CHECK(headrace::models::focal_loss(logits, soft.argmax(1), {.gamma = gamma}).item<double>() !=
          Approx(expected).epsilon(1e-3));
  }
}

TEST_CASE("mixed labels of an unknown number of classes are refused") {
  ImageFields unknown = fields;
  unknown.classes = 0;
  CHECK_THROWS_AS(mixed(0, unknown), headrace::ConfigError);
}

TEST_CASE("integer rows of several classes are refused and not taken for the first of them") {
  const auto classes_of = [](std::vector<std::int64_t> rows) {
    class Rows final : public headrace::Source {
     public:
      explicit Rows(std::vector<std::int64_t> rows) : rows_(std::move(rows)) {}
      std::string name() const override { return "rows"; }
      std::int64_t size() const override { return static_cast<std::int64_t>(rows_.size()) / 3; }
      headrace::Schema fields() const override {
        return {headrace::FieldSpec::fixed("image", headrace::DType::float32, {1, 1, 1}),
                headrace::FieldSpec::fixed("label", headrace::DType::int64, {3})};
      }
      void read(std::int64_t index, headrace::Sample& sample) const override {
        *sample.make("image", headrace::DType::float32, {1, 1, 1}).data<float>() = 0.0F;
        std::copy_n(rows_.begin() + index * 3, 3,
                    sample.make("label", headrace::DType::int64, {3}).data<std::int64_t>());
      }

     private:
      std::vector<std::int64_t> rows_;
    };
    auto loader = headrace::Pipeline::from(Rows(std::move(rows))).batch({.size = 2}).build();
    return unpack_images()(loader.next().batch, at::kCPU).targets.at("label");
  };
  CHECK(at::equal(classes_of({0, 1, 0, 0, 0, 1}), at::tensor({1, 2}, at::kLong)));
  CHECK_THROWS_WITH_AS(classes_of({0, 1, 0, 1, 0, 1}), doctest::Contains("row 1"),
                       headrace::DataError);
  CHECK_THROWS_AS(classes_of({0, 2, -1, 1, 0, 0}), headrace::DataError);
  CHECK_THROWS_AS(classes_of({0, 0, 0, 1, 0, 0}), headrace::DataError);
}

TEST_CASE("accuracy of soft labels is that of their largest share") {
  ClassificationMetric metric(3);
  metric.add({.output = {.main = at::eye(3)},
              .example = headrace::test::example_of(
                  at::zeros({3, 1}),
                  at::tensor({.6F, .4F, .0F, .2F, .5F, .3F, .5F, .1F, .4F}).view({3, 3}))});
  CHECK(figure(metric.result(), "accuracy") == Approx(2.0 / 3.0));
}

TEST_CASE("fields become inputs and targets by their names") {
  auto loader =
      headrace::Pipeline::from(Pictures{}).batch({.size = 5, .tail = headrace::Tail::pad}).build();
  static_cast<void>(loader.next());
  const headrace::NextBatch next = loader.next();
  const Example example = example_of_fields(next.batch, at::kCPU);
  CHECK(example.inputs.size() == 1);
  CHECK((example.inputs.at("image").scalar_type() == at::kByte));
  CHECK(example.targets.size() == 1);
  CHECK(example.present.sum().item<std::int64_t>() == 3);
  CHECK(counted_rows(example) == 3);
}

TEST_CASE("sums of loss terms go on from a checkpoint") {
  const Example example{.rows = 4};
  const auto terms = [](double a, double b) {
    return std::vector<Term>{{.name = "a", .value = at::scalar_tensor(a)},
                             {.name = "b", .value = at::scalar_tensor(b), .factor = 2.0}};
  };
  LossMeans whole;
  whole.add(terms(1.0, 2.0), example);
  LossMeans resumed;
  resumed.restore(whole.state());
  for (LossMeans* means : {&whole, &resumed})
    means->add(terms(4.0, 8.0), {.rows = 12});
  CHECK(figure(resumed.figures(), "loss_a") == 3.25);
  CHECK(figure(resumed.figures(), "loss") == 3.25 + 2.0 * 6.5);
  CHECK((whole.figures() == resumed.figures()));
  CHECK_THROWS_AS(whole.add({{.name = "other", .value = at::zeros({})}}, example),
                  headrace::ConfigError);
}

namespace {

// Record i holds i in all values.
class Arrays final : public headrace::Source {
 public:
  Arrays(headrace::DType dtype, headrace::Shape shape) : dtype_(dtype), shape_(shape) {}
  std::string name() const override { return "arrays"; }
  std::int64_t size() const override { return 4; }
  headrace::Schema fields() const override {
    return {headrace::FieldSpec::fixed("array", dtype_, shape_),
            headrace::FieldSpec::fixed("label", headrace::DType::int64, {})};
  }
  void read(std::int64_t index, headrace::Sample& sample) const override {
    headrace::Tensor& array = sample.make("array", dtype_, shape_);
    if (dtype_ == headrace::DType::int16)
      for (std::int16_t& value : array.values<std::int16_t>())
        value = static_cast<std::int16_t>(index);
    else
      for (double& value : array.values<double>())
        value = static_cast<double>(index);
    sample.set_scalar("label", index);
  }

 private:
  headrace::DType dtype_;
  headrace::Shape shape_;
};

}  // namespace

TEST_CASE("arrays of any type become floats less their mean, and leave the batch as it is") {
  struct Case {
    headrace::DType dtype;
    headrace::Shape shape;
    std::vector<std::int64_t> sizes;
    std::vector<double> mean;
  };
  for (const Case& one : {Case{headrace::DType::int16, {5}, {4, 5}, {0, 1, 2, 3, 4}},
                          Case{headrace::DType::float64, {3, 4}, {4, 1, 3, 4}, {1}},
                          Case{headrace::DType::int16, {2, 3, 4}, {4, 2, 3, 4}, {0, 1}}}) {
    CAPTURE(one.sizes.size());
    auto loader = headrace::Pipeline::from(Arrays(one.dtype, one.shape)).batch({.size = 4}).build();
    const headrace::NextBatch next = loader.next();
    const auto unpack = unpack_arrays({.mean = one.mean,
                                       .stddev = std::vector<double>(one.mean.size(), 2.0),
                                       .channels_last = true});
    for (int again = 0; again < 2; ++again) {  // nothing was written to the batch
      const Example example = unpack(next.batch, at::kCPU);
      const at::Tensor input = example.inputs.at("array");
      CHECK(input.sizes().vec() == one.sizes);
      CHECK((input.scalar_type() == at::kFloat));
      CHECK(input.select(0, 3).select(0, 0).flatten()[0].item<double>() == (3 - one.mean[0]) / 2);
      const auto last = static_cast<std::int64_t>(one.mean.size()) - 1;
      CHECK(input.select(0, 3).select(0, last).flatten()[0].item<double>() ==
            (3 - one.mean.back()) / 2);
      CHECK(example.targets.at("label")[3].item<std::int64_t>() == 3);
    }
  }
}

TEST_CASE("floats that a pipeline has normalised are normalised anew, and the batch stays") {
  // As by mean 0.5 and deviation 0.25 of values in [0, 1]; wanted: by 0.3 and 0.1.
  auto loader = headrace::Pipeline::from(Pictures{})
                    .batch({.size = 8})
                    .then(headrace::Normalize{.mean = {0.5F}, .std = {0.25F}})
                    .build();
  const headrace::NextBatch next = loader.next();
  const std::vector<double> mean(3, (0.3 - 0.5) / 0.25);
  const std::vector<double> stddev(3, 0.1 / 0.25);
  const auto unpack = unpack_images({.mean = mean, .stddev = stddev, .of_floats = true});
  for (int again = 0; again < 2; ++again) {
    const at::Tensor input = unpack(next.batch, at::kCPU).inputs.at("image");
    REQUIRE(input.sizes() == at::IntArrayRef{8, 3, 4, 4});
    for (std::int64_t row = 0; row < 8; ++row)
      CHECK(input[row][2][3][1].item<double>() ==
            Approx((30.0 * static_cast<double>(row) / 255.0 - 0.3) / 0.1).epsilon(1e-5));
  }
}
