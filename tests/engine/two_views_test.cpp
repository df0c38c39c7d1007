// Pipelines that give two views of a picture, against a reference computed without the engine.
#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;

namespace {

constexpr std::int64_t side = 12;
constexpr std::int64_t cut = 8;

std::uint8_t pixel(std::int64_t record, std::int64_t y, std::int64_t x) {
  return static_cast<std::uint8_t>(record * 31 + y * side + x);
}

/// Record i is a picture of 12 x 12 pixels that says which it is.
class Pictures final : public Source {
 public:
  explicit Pictures(bool blocking) : blocking_(blocking) {}
  std::string name() const override { return "pictures"; }
  std::int64_t size() const override { return 256; }
  bool blocking() const override { return blocking_; }
  Schema fields() const override { return {FieldSpec::fixed("image", DType::uint8, {side, side})}; }
  void read(std::int64_t index, Sample& sample) const override {
    auto* out = sample.make("image", DType::uint8, {side, side}).data<std::uint8_t>();
    for (std::int64_t i = 0; i < side * side; ++i)
      out[i] = pixel(index, i / side, i % side);
  }

 private:
  bool blocking_;
};

/// A second view of the image: it shares what the first has, as far as the step is concerned.
struct SecondView {
  bool in_place = false;  ///< both in one memory of the step's own, which is the twin's mistake
  Schema schema(const Schema& in) const {
    Schema out = in;
    out.put(FieldSpec::fixed("view2", DType::uint8, {side, side}));
    return out;
  }
  void operator()(Sample& sample) const {
    if (in_place) sample.set("image", sample["image"].clone());
    sample.set("view2", sample["image"]);
  }
};

/// The corner of 8 x 8 pixels.
struct Crop {
  std::string field;
  Schema schema(const Schema& in) const {
    Schema out = in;
    out.put(FieldSpec::fixed(field, DType::uint8, {cut, cut}));
    return out;
  }
  void operator()(Sample& sample) const {
    const Tensor from = sample[field];
    auto* to = sample.make(field, DType::uint8, {cut, cut}).data<std::uint8_t>();
    for (std::int64_t y = 0; y < cut; ++y)
      std::copy_n(from.data<std::uint8_t>() + y * side, cut, to + y * cut);
  }
};

/// Every pixel of the image one higher, in other memory or in place.
struct Brighter {
  bool in_place = false;
  void operator()(Sample& sample) const {
    const Tensor from = sample["image"];
    const Tensor to = in_place ? from : sample.make("image", from.dtype(), from.shape());
    std::ranges::transform(from.values<std::uint8_t>(), to.data<std::uint8_t>(),
                           [](std::uint8_t value) { return static_cast<std::uint8_t>(value + 1); });
  }
};

/// What a row must be, computed without the engine.
std::string expected_row(std::int64_t record) {
  std::string image;
  std::string view;
  for (std::int64_t y = 0; y < cut; ++y) {
    for (std::int64_t x = 0; x < cut; ++x) {
      image += static_cast<char>(pixel(record, y, x) + 3);
      view += static_cast<char>(pixel(record, y, x));
    }
  }
  return image + view;
}

/// Rows that are not as the reference says.
std::int64_t wrong_rows(Loader& loader) {
  std::int64_t wrong = 0;
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    std::int64_t record = 0;
    for (Batch& batch : loader.epoch(epoch)) {
      for (const std::string& row : rows_of(batch))
        wrong += row == expected_row(record++) ? 0 : 1;
    }
    CHECK(record == 256);
  }
  return wrong;
}

Loader two_views(bool in_place, bool blocking, int threads, bool fuse) {
  return Pipeline::from(Pictures(blocking))
      .then(SecondView{in_place})
      .then(Brighter{in_place})
      .then(Brighter{in_place})
      .then(Brighter{in_place})
      .then(Crop{"image"})
      .then(Crop{"view2"})
      .batch({.size = 32})
      .build({.fuse = fuse, .runtime = Runtime({.threads = threads})});
}

}  // namespace

TEST_CASE("two views of one picture are delivered as they were made, however the graph is cut") {
  Watchdog watchdog("two views");
  for (const int threads : {1, 2, 8}) {
    for (const bool fuse : {true, false}) {
      for (const bool blocking : {false, true}) {
        CAPTURE(threads);
        CAPTURE(fuse);
        CAPTURE(blocking);
        Loader loader = two_views(false, blocking, threads, fuse);
        CHECK(wrong_rows(loader) == 0);
      }
    }
  }
}

TEST_CASE("twin: two views in one memory, worked on in place, are not what was wanted") {
  Watchdog watchdog("two views in one memory");
  Loader loader = two_views(true, false, 2, true);
  CHECK(wrong_rows(loader) == 512);
}
