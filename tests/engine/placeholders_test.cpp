#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>

#include <algorithm>
#include <cstdint>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;

namespace {

// A step of samples that makes fields of every kind, and one that would fail on any sample.
struct MakeFields {
  Schema schema(const Schema& in) const {
    Schema out = in;
    out.put(FieldSpec::fixed("flags", DType::int32, Shape{3}));
    out.put(FieldSpec::fixed("scores", DType::float32, Shape{3}));
    out.put(FieldSpec::padded("sound", DType::float32, Shape{8}, -1.0));
    out.put(FieldSpec::ragged("words", DType::uint16, 5));
    return out;
  }
  void operator()(Sample&) const { throw DataError("no sample is to be made"); }
};

struct DoubleIndex {
  Schema schema(const Schema& in) const {
    Schema out = in;
    out.put(FieldSpec::fixed("doubled", DType::int64, Shape{}));
    return out;
  }
  void operator()(Batch& batch) const {
    const Tensor from = batch["index"];
    const Tensor to = batch.make("doubled", DType::int64, from.shape());
    std::ranges::transform(from.values<std::int64_t>(), to.data<std::int64_t>(),
                           [](std::int64_t value) { return 2 * value; });
  }
};

class Unread final : public TableSource {
 public:
  using TableSource::TableSource;
  void read(std::int64_t, Sample&) const override { throw DataError("no record is to be read"); }
};

Pipeline pipeline() {
  return Pipeline::from(std::make_shared<const Unread>(TableOptions{.records = 4}))
      .then(MakeFields{})
      .batch({.size = 2, .tail = Tail::drop})
      .then(DoubleIndex{});
}

}  // namespace

TEST_CASE("placeholders have the fields of the batches that they stand for, and nothing is read") {
  Loader loader = pipeline().with_placeholders(3, 7).build({.runtime = Runtime({.threads = 2})});
  CHECK(loader.batches_per_epoch() == 2);
  std::int64_t batches = 0;
  for (Batch& batch : loader.epoch(0)) {
    ++batches;
    CHECK(batch.size() == 3);
    CHECK(batch["value"].shape() == Shape{3, 16});
    CHECK(std::ranges::all_of(batch["doubled"].values<std::int64_t>(),
                              [](std::int64_t value) { return value == 0; }));
    CHECK(batch["sound"].shape() == Shape{3, 8});
    CHECK(batch["sound_shape"].values<std::int64_t>()[0] == 8);
    CHECK(batch["words"].shape() == Shape{15});
    const auto flags = batch["flags"].values<std::int32_t>();
    CHECK(flags[0] == 1);
    CHECK(flags[1] == 0);
    CHECK(flags[3] == 1);
    CHECK(batch["scores"].values<float>()[0] == 0.0F);
  }
  CHECK(batches == 2);
}

TEST_CASE("placeholders of a pipeline without batches are refused") {
  CHECK_THROWS_AS(static_cast<void>(Pipeline::from(table({})).with_placeholders(1, 1)),
                  ConfigError);
}
