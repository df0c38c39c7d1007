#include <headrace/engine/base/error.h>
#include <headrace/engine/sample/mask.h>

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;

namespace {

const FieldSpec picture = FieldSpec::fixed("image", DType::uint8, Shape{4, 6, 3});

std::string refusal(const FieldSpec& mask) {
  try {
    check_masks(Schema{picture, mask}, picture, std::vector<std::string>{"mask"}, "flip");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a mask has labels of 8 or 16 bits, the sides of its picture and its kind") {
  CHECK(refusal(FieldSpec::fixed("mask", DType::uint8, Shape{4, 6})) == "");
  CHECK(refusal(FieldSpec::fixed("mask", DType::uint16, Shape{4, 6})) == "");
  CHECK(refusal(FieldSpec::fixed("mask", DType::uint8, Shape{6, 4})).find("[flip] mask \"mask\"") ==
        0);
  CHECK(refusal(FieldSpec::fixed("mask", DType::uint8, Shape{4, 6, 1})) != "");
  CHECK(refusal(FieldSpec::fixed("mask", DType::int64, Shape{4, 6})) != "");
  CHECK(refusal(FieldSpec::padded("mask", DType::uint8, Shape{4, 6})) != "");
  CHECK(refusal(FieldSpec::fixed("labels", DType::uint8, Shape{4, 6})) != "");
}

TEST_CASE("a sample's mask must fit its picture") {
  Sample sample;
  sample.make("mask", DType::uint16, Shape{4, 6});
  CHECK(mask_of(sample, "mask", 4, 6).dtype() == DType::uint16);
  CHECK_THROWS_AS(mask_of(sample, "mask", 6, 4), DataError);
  sample.make("mask", DType::float32, Shape{4, 6});
  CHECK_THROWS_AS(mask_of(sample, "mask", 4, 6), DataError);
}

TEST_CASE("labels are visited as what they are") {
  const Tensor narrow = Tensor::scalar<std::uint8_t>(7);
  const Tensor wide = Tensor::scalar<std::uint16_t>(700);
  std::vector<std::size_t> sizes;
  std::vector<unsigned> values;
  for (const Tensor& mask : {narrow, wide}) {
    visit_labels(mask, [&](const auto* labels) {
      sizes.push_back(sizeof *labels);
      values.push_back(*labels);
    });
  }
  CHECK(sizes == std::vector<std::size_t>{1, 2});
  CHECK(values == std::vector<unsigned>{7, 700});
}
