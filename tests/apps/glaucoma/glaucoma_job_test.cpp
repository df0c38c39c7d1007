#include <headrace/apps/jobs/glaucoma/data.h>
#include <headrace/apps/jobs/glaucoma/labels.h>
#include <headrace/apps/jobs/glaucoma/names.h>
#include <headrace/apps/jobs/glaucoma/sample.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/tests/apps/glaucoma/data.h>
#include <headrace/tests/support/temporary_folder.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using headrace::DType;
using headrace::FieldSpec;
using headrace::Sample;
using headrace::Schema;
using headrace::Shape;
using headrace::Tensor;
using headrace::app::GlaucomaSample;

// A record whose map i holds `values[i]` everywhere.
template <class T>
Sample record(const std::array<T, 6>& values) {
  Sample sample;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::vector<T> pixels(6, values[i]);
    sample.set(headrace::app::glaucoma_map_names[i],
               Tensor::of<T>(std::span<const T>(pixels), {2, 3}));
  }
  return sample;
}

}  // namespace

TEST_CASE("the pair mean makes three channels of six maps and rounds halves up") {
  Sample sample = record<std::uint8_t>({0, 1, 255, 255, 10, 13});
  GlaucomaSample()(sample);
  const Tensor& image = sample["image"];
  CHECK(image.shape() == Shape{2, 3, 3});
  for (int pixel = 0; pixel < 6; ++pixel) {
    CHECK(image.data<std::uint8_t>()[3 * pixel] == 1);
    CHECK(image.data<std::uint8_t>()[3 * pixel + 1] == 255);
    CHECK(image.data<std::uint8_t>()[3 * pixel + 2] == 12);
  }
  CHECK(sample.names() == std::vector<std::string>{"image"});
}

TEST_CASE("the pair mean clips floating maps to 0..255 and refuses what is no number") {
  Sample sample = record<float>({-20.0F, 40.0F, 300.0F, 255.0F, 1.0F, 2.2F});
  GlaucomaSample()(sample);
  CHECK(sample["image"].data<std::uint8_t>()[0] == 20);
  CHECK(sample["image"].data<std::uint8_t>()[1] == 255);
  CHECK(sample["image"].data<std::uint8_t>()[2] == 2);
  Sample wide = record<double>({-20.0, 40.0, 300.0, 255.0, 1.0, 2.2});
  GlaucomaSample()(wide);
  CHECK(wide["image"].data<std::uint8_t>()[0] == 20);
  CHECK(wide["image"].data<std::uint8_t>()[1] == 255);
  CHECK(wide["image"].data<std::uint8_t>()[2] == 2);
  for (const float bad : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    Sample broken = record<float>({1, bad, 1, 1, 1, 1});
    CHECK_THROWS_AS(GlaucomaSample()(broken), headrace::DataError);
  }
}

TEST_CASE("the label is the place of the one in a one-hot row of any type") {
  const std::vector<double> row{0, 0, 0, 1, 0};
  const std::vector<std::uint8_t> bytes{0, 1, 0, 0, 0};
  CHECK(headrace::app::class_of(Tensor::of<double>(row, {5})) == 3);
  CHECK(headrace::app::class_of(Tensor::of<std::uint8_t>(bytes, {5})) == 1);
}

TEST_CASE("the pair mean refuses maps that differ, before anything runs") {
  Schema schema;
  for (const std::string_view name : headrace::app::glaucoma_map_names) {
    schema.put(FieldSpec::fixed(std::string(name), DType::uint8, {8, 8}));
  }
  CHECK(GlaucomaSample().schema(schema).at("image").shape == Shape{8, 8, 3});
  schema.put(FieldSpec::fixed("rim_input", DType::uint8, {8, 9}));
  CHECK_THROWS_AS(GlaucomaSample().schema(schema), headrace::ConfigError);
}

TEST_CASE(
    "a list that training and evaluation could not share is refused before anything is read") {
  const headrace::test::TemporaryFolder folder;
  headrace::app::GlaucomaConfig config;
  config.data.file = folder.path() / "data.h5";
  config.training.batch = 10;
  headrace::test::write_glaucoma_data(config.data.file, 60, 15);
  const auto said = [&](const std::string& list) {
    config.augment = headrace::app::augment_list(list);
    try {
      headrace::app::make_glaucoma_loader_job(config).forecast();
    } catch (const headrace::ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK(said("[random_resized_crop, flip, mixup]") == "no error");
  CHECK(said("[{center_crop: 8}]")
            .find("makes image: uint8 [8, 8, 3] of image: uint8 [16, 16, 3], "
                  "but validation and test") != std::string::npos);
  CHECK(said("[{mixup: {group: 4}}]").find("got group 4 and training.batch 10") !=
        std::string::npos);
}

TEST_CASE("training batches hold normalised pictures of the training split alone") {
  const headrace::test::TemporaryFolder folder;
  headrace::app::GlaucomaConfig config;
  config.data.file = folder.path() / "data.h5";
  config.training.batch = 10;
  config.threads.loader = 1;
  headrace::test::write_glaucoma_data(config.data.file, 60, 15);
  const headrace::app::GlaucomaRows rows = headrace::app::read_glaucoma_rows(config.data.file, 42);
  CHECK(rows.train.size() == 60);
  CHECK(rows.test.size() == 15);
  CHECK(rows.test.front() == 60);

  headrace::Loader loader = headrace::app::make_glaucoma_loader_job(config).build();
  std::vector<int> seen(75, 0);
  for (const headrace::Batch& batch : loader.epoch(0)) {
    CHECK(batch["image"].shape() == Shape{10, 16, 16, 3});
    CHECK(batch["image"].dtype() == DType::float32);
    const Tensor labels = batch["label"];
    const std::vector<headrace::Origin> origins = batch.origins();
    for (std::size_t k = 0; k < origins.size(); ++k) {
      ++seen.at(static_cast<std::size_t>(origins[k].index));
      CHECK(labels.data<std::int64_t>()[k] == origins[k].index % 5);
    }
  }
  for (std::size_t i = 0; i < seen.size(); ++i)
    CHECK(seen[i] == (i < 60 ? 1 : 0));
}
