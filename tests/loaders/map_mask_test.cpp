#include <headrace/engine/base/error.h>
#include <headrace/engine/headrace.h>
#include <headrace/loaders/image/decode_image.h>
#include <headrace/loaders/image/map_mask.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/picture_pairs.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using test::contains;

namespace {

template <class T>
Sample sample_of(const std::vector<T>& values) {
  Sample sample;
  const auto width = static_cast<std::int64_t>(values.size()) / 2;
  sample.set("mask", Tensor::of(std::span<const T>(values), Shape{2, width}));
  return sample;
}

template <class T>
std::vector<int> mapped(const MapMask& map, const std::vector<T>& values) {
  Sample sample = sample_of(values);
  map(sample);
  const auto labels = sample["mask"].values<std::uint8_t>();
  return {labels.begin(), labels.end()};
}

template <class T>
std::string failure(const MapMask& map, const std::vector<T>& values) {
  return test::message_of<DataError>([&] { mapped(map, values); });
}

std::string refusal(const MapMask& map, const FieldSpec& field) {
  return test::message_of<ConfigError>([&] { map.schema({field}); });
}

/// Pictures whose masks hold 0 and 255, the sixth a 7 as well.
class BinaryPairs final : public test::PicturePairs {
 public:
  explicit BinaryPairs(bool bad) {
    for (unsigned i = 0; i < 8; ++i) {
      test::Pixels mask = test::picture(16, 16, 1, i);
      for (std::uint8_t& value : mask)
        value = value > 100 ? 255 : 0;
      if (bad && i == 5) mask[3] = mask[7] = 7;
      add(test::encode_png({.width = 16, .height = 16}, test::picture(16, 16, 3, i), 48),
          test::encode_png({.width = 16, .height = 16, .colour = PNG_COLOR_TYPE_GRAY}, mask, 16));
    }
  }
  std::string origin(std::int64_t index) const override {
    return "mask" + std::to_string(index) + ".png";
  }
};

const MapMask binary{.values = {{0, 0}, {255, 1}}};

std::vector<std::uint8_t> labels_of(int threads, bool bad) {
  Loader loader = Pipeline::from(std::make_shared<const BinaryPairs>(bad))
                      .order(Shuffled{.seed = 1})
                      .then(DecodeImage{.crop = RandomResizedCrop{12, 12}, .masks = {"mask"}})
                      .then(binary)
                      .batch({.size = 4})
                      .build({.runtime = Runtime({.threads = threads})});
  std::vector<std::uint8_t> all;
  for (const std::int64_t epoch : {0, 1}) {
    for (Batch& batch : loader.epoch(epoch)) {
      const auto labels = batch["mask"].values<std::uint8_t>();
      all.insert(all.end(), labels.begin(), labels.end());
    }
  }
  return all;
}

}  // namespace

TEST_CASE("stored values become classes, ignored ones the ignore label") {
  const MapMask map{.values = {{0, 0}, {128, 2}, {255, 1}}, .ignored = {9, 10}};
  CHECK(mapped<std::uint8_t>(map, {0, 255, 128, 9, 10, 255}) ==
        std::vector<int>{0, 1, 2, 255, 255, 1});
  const MapMask deep{.values = {{0, 4}, {65535, 1}}, .ignored = {300}, .ignore_label = 200};
  CHECK(mapped<std::uint16_t>(deep, {0, 65535, 300, 0}) == std::vector<int>{4, 1, 200, 4});
  const Schema in{FieldSpec::fixed("mask", DType::uint16, Shape{4, 5})};
  CHECK(deep.schema(in).at("mask") == FieldSpec::fixed("mask", DType::uint8, Shape{4, 5}));
}

TEST_CASE("a value that is not in the map is named with its count and the nearest") {
  CHECK(failure<std::uint8_t>(binary, {0, 255, 254, 3, 254, 0}) ==
        "mask \"mask\" must have the values of its map (0, 255), got 254 in 2 of 6 pixels; the "
        "nearest is 255; give the value a class, or let it be ignored");
  CHECK(contains(failure<std::uint16_t>(binary, {0, 700}), "got 700 in 1 of 2 pixels"));
}

TEST_CASE("maps and fields that cannot be right are refused") {
  const FieldSpec mask = FieldSpec::fixed("mask", DType::uint8, Shape{4, 4});
  CHECK(contains(refusal({}, mask), "must have a map with at least one value"));
  CHECK(contains(refusal({.values = {{0, 0}, {1, 1}}, .ignored = {1}}, mask),
                 "value 1 must be in the map once, is there twice"));
  CHECK(contains(refusal({.values = {{300, 0}}}, mask), "value 300 is beyond uint8"));
  CHECK(contains(refusal(binary, FieldSpec::fixed("mask", DType::uint8, Shape{4, 4, 3})),
                 "must be uint8 or uint16 [height, width]"));
  CHECK(contains(refusal(binary, FieldSpec::ragged("mask", DType::uint8, 4)), "must be uint8"));
  CHECK(contains(refusal(binary, FieldSpec::fixed("image", DType::uint8, Shape{4, 4})), "mask"));
}

TEST_CASE("mapped masks are the same bytes for 1, 2 and 8 threads, and a bad one names its file") {
  const std::vector<std::uint8_t> one = labels_of(1, false);
  CHECK(one.size() == std::size_t{2} * 8 * 12 * 12);
  CHECK(std::count(one.begin(), one.end(), 0) + std::count(one.begin(), one.end(), 1) ==
        static_cast<std::ptrdiff_t>(one.size()));
  CHECK(std::count(one.begin(), one.end(), 1) > 100);
  CHECK(labels_of(2, false) == one);
  CHECK(labels_of(8, false) == one);
  Loader loader = Pipeline::from(std::make_shared<const BinaryPairs>(true))
                      .then(DecodeImage{.crop = WholeImage{16, 16}, .masks = {"mask"}})
                      .then(binary)
                      .batch({.size = 8})
                      .build();
  const std::string message = test::message_of<Error>([&] {
    for (Batch& batch : loader.epoch(0))
      batch.size();
  });
  CHECK(contains(message, "[map_mask]"));
  CHECK(contains(message, "mask5.png"));
  CHECK(contains(message, "got 7 in 2 of 256 pixels; the nearest is 0"));
}
