#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;

namespace {

/// Record i is a picture of (1 + i % 4) x (1 + i % 3) pixels of value 1 + i, and a list of i % 6
/// numbers i, i + 1, ...
class Uneven final : public Source {
 public:
  explicit Uneven(std::int64_t records, std::int64_t too_large = -1)
      : records_(records), too_large_(too_large) {}
  static std::int64_t height(std::int64_t i) { return 1 + i % 4; }
  static std::int64_t width(std::int64_t i) { return 1 + i % 3; }
  static std::int64_t length(std::int64_t i) { return i % 6; }

  std::string name() const override { return "uneven"; }
  std::int64_t size() const override { return records_; }
  Schema fields() const override {
    return {FieldSpec::fixed("index", DType::int64, Shape{}),
            FieldSpec::padded("picture", DType::float32, Shape{4, 3}, -7.0),
            FieldSpec::ragged("list", DType::int32, 5)};
  }
  void read(std::int64_t index, Sample& sample) const override {
    sample.set_scalar<std::int64_t>("index", index);
    const std::int64_t extra = index == too_large_ ? 10 : 0;
    auto picture =
        sample.make("picture", DType::float32, Shape{height(index), width(index)}).values<float>();
    std::fill(picture.begin(), picture.end(), static_cast<float>(1 + index));
    auto list =
        sample.make("list", DType::int32, Shape{length(index) + extra}).values<std::int32_t>();
    for (std::size_t k = 0; k < list.size(); ++k)
      list[k] = static_cast<std::int32_t>(index) + static_cast<std::int32_t>(k);
  }

 private:
  std::int64_t records_;
  std::int64_t too_large_;
};

Pipeline uneven(std::int64_t records) {
  return Pipeline::from(Uneven(records)).order(Shuffled{.seed = 5});
}

bool right_picture(const Batch& batch, std::int64_t row, std::int64_t index) {
  const auto shape = batch["picture_shape"].row(row).values<std::int64_t>();
  if (shape[0] != Uneven::height(index) || shape[1] != Uneven::width(index)) return false;
  const auto picture = batch["picture"].row(row).values<float>();
  for (std::int64_t y = 0; y < 4; ++y)
    for (std::int64_t x = 0; x < 3; ++x) {
      const bool inside = y < shape[0] && x < shape[1];
      const float expected = inside ? static_cast<float>(1 + index) : -7.0F;
      if (picture[static_cast<std::size_t>(3 * y + x)] != expected) return false;
    }
  return true;
}

bool right_list(const Batch& batch, std::int64_t row, std::int64_t index) {
  const auto offsets = batch["list_offsets"].values<std::int64_t>();
  const auto list = batch["list"].values<std::int32_t>();
  const auto first = static_cast<std::size_t>(offsets[static_cast<std::size_t>(row)]);
  const auto last = static_cast<std::size_t>(offsets[static_cast<std::size_t>(row + 1)]);
  if (last - first != static_cast<std::size_t>(Uneven::length(index)) || last > list.size())
    return false;
  for (std::size_t k = first; k < last; ++k)
    if (list[k] != static_cast<std::int32_t>(index) + static_cast<std::int32_t>(k - first))
      return false;
  return true;
}

}  // namespace

TEST_CASE(
    "padded fields hold the row in their corner, the fill elsewhere, and say each row's shape") {
  Watchdog watchdog("padded fields");
  for (int threads : {1, 8}) {
    Loader loader = uneven(50)
                        .batch({.size = 8})
                        .build({.prefetch = 1, .runtime = Runtime({.threads = threads})});
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      for (Batch& batch : loader.epoch(epoch)) {
        CHECK(batch["picture"].shape() == Shape{batch.size(), 4, 3});
        CHECK(batch["picture_shape"].shape() == Shape{batch.size(), 2});
        CHECK(batch["picture_shape"].dtype() == DType::int64);
        const std::vector<std::int64_t> indices = indices_of(batch);
        for (std::int64_t row = 0; row < batch.size(); ++row)
          CHECK(right_picture(batch, row, indices[static_cast<std::size_t>(row)]));
      }
    }
  }
}

TEST_CASE("ragged fields hold the rows end to end, with offsets") {
  Watchdog watchdog("ragged fields");
  for (int threads : {1, 8}) {
    Loader loader = uneven(50)
                        .batch({.size = 8})
                        .build({.prefetch = 1, .runtime = Runtime({.threads = threads})});
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      for (Batch& batch : loader.epoch(epoch)) {
        const auto offsets = batch["list_offsets"].values<std::int64_t>();
        REQUIRE(std::ssize(offsets) == batch.size() + 1);
        CHECK(offsets.front() == 0);
        CHECK(batch["list"].shape() == Shape{offsets.back()});
        const std::vector<std::int64_t> indices = indices_of(batch);
        for (std::int64_t row = 0; row < batch.size(); ++row)
          CHECK(right_list(batch, row, indices[static_cast<std::size_t>(row)]));
      }
    }
  }
}

TEST_CASE("the bytes of uneven fields are the same for every number of threads") {
  Watchdog watchdog("uneven fields and threads");
  auto deliver = [](int threads, bool fuse) {
    Loader loader = uneven(101)
                        .batch({.size = 8, .tail = Tail::pad})
                        .build({.fuse = fuse, .runtime = Runtime({.threads = threads})});
    std::vector<std::string> batches;
    for (std::int64_t epoch = 0; epoch < 2; ++epoch)
      for (Batch& batch : loader.epoch(epoch))
        batches.push_back(bytes_of(batch));
    return batches;
  };
  const std::vector<std::string> expected = deliver(1, true);
  for (int threads : {1, 2, 8})
    for (bool fuse : {true, false})
      CHECK(same(deliver(threads, fuse), expected));
}

TEST_CASE("a batch knows on the host how many of its rows hold samples") {
  Loader padded = Pipeline::from(table({.records = 20}))
                      .batch({.size = 8, .tail = Tail::pad})
                      .build({.prefetch = 1});
  std::vector<std::int64_t> rows;
  for (Batch& batch : padded.epoch(0)) {
    rows.push_back(batch.valid_rows().value());
    CHECK(batch.rows(2, 6).valid_rows() == (batch.number() == 2 ? 2 : 4));
    CHECK(batch.rows(5, 5).valid_rows() == 0);
  }
  CHECK((rows == std::vector<std::int64_t>{8, 8, 4}));

  const auto odd_is_bad = [](std::int64_t index) {
    if (index % 2 == 1) throw DataError("the record is truncated");
  };
  Loader shrunk = Pipeline::from(table({.records = 7}, odd_is_bad))
                      .on_bad_sample({.rule = BadSamples::Rule::shrink})
                      .batch({.size = 4})
                      .build();
  rows.clear();
  for (Batch& batch : shrunk.epoch(0))
    rows.push_back(batch.valid_rows().value());
  CHECK((rows == std::vector<std::int64_t>{2, 2}));

  Loader plain = Pipeline::from(table({.records = 7})).batch({.size = 4}).build();
  CHECK(plain.next().batch.valid_rows() == 4);
  CHECK(plain.next().batch.valid_rows() == 3);
}

TEST_CASE("a field valid that is not the loader's own says nothing about its rows") {
  Loader loader = Pipeline::from(table({.records = 8}))
                      .batch({.size = 8, .tail = Tail::pad})
                      .then([](Batch& batch) {
                        auto valid = batch.make("valid", DType::boolean, Shape{8});
                        std::memset(valid.raw(), 0, 8);
                      })
                      .build();
  CHECK_FALSE(loader.next().batch.valid_rows().has_value());
}

TEST_CASE("rows of a batch with ragged fields show their own offsets into all values") {
  Watchdog watchdog("rows of ragged fields");
  Loader loader = uneven(16).batch({.size = 16}).build({.runtime = Runtime({.threads = 2})});
  const NextBatch next = loader.next();
  const std::vector<std::int64_t> indices = indices_of(next.batch);
  const Batch part = next.batch.rows(4, 9);
  CHECK(part["list_offsets"].shape() == Shape{6});
  for (std::int64_t row = 0; row < 5; ++row) {
    const std::int64_t index = indices[static_cast<std::size_t>(row + 4)];
    CHECK(right_list(part, row, index));
    CHECK(right_picture(part, row, index));
  }
}

TEST_CASE("a bad row of uneven fields is empty: no values, the fill, shape zero") {
  Watchdog watchdog("bad rows of uneven fields");
  Loader loader = Pipeline::from(Uneven(32))
                      .then([](Sample& sample) {
                        if (sample.origin().index % 5 == 4) throw DataError("bad");
                      })
                      .on_bad_sample({.rule = BadSamples::Rule::shrink})
                      .batch({.size = 8})
                      .build({.prefetch = 1, .runtime = Runtime({.threads = 2})});
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    std::int64_t place = 0;
    for (Batch& batch : loader.epoch(epoch)) {
      for (std::int64_t row = 0; row < batch.size(); ++row, ++place) {
        if (place % 5 != 4) {
          CHECK(batch["valid"].row(row).item<bool>());
          CHECK(right_picture(batch, row, place));
          CHECK(right_list(batch, row, place));
          continue;
        }
        CHECK_FALSE(batch["valid"].row(row).item<bool>());
        const auto picture = batch["picture"].row(row).values<float>();
        CHECK(std::all_of(picture.begin(), picture.end(),
                          [](float value) { return value == -7.0F; }));
        const auto offsets = batch["list_offsets"].values<std::int64_t>();
        CHECK(offsets[static_cast<std::size_t>(row)] == offsets[static_cast<std::size_t>(row + 1)]);
        const auto shape = batch["picture_shape"].row(row).values<std::int64_t>();
        CHECK(shape[0] == 0);
        CHECK(shape[1] == 0);
      }
    }
    CHECK(place == 32);
  }
}

TEST_CASE("a row that is larger than its field allows is refused with both sizes") {
  Watchdog watchdog("a row too large");
  Loader loader =
      Pipeline::from(Uneven(32, 17)).batch({.size = 8}).build({.runtime = Runtime({.threads = 2})});
  std::int64_t delivered = 0;
  try {
    for (Batch& batch : loader.epoch(0))
      delivered = batch.number() + 1;
    FAIL("no error");
  } catch (const DataError& error) {
    const std::string message = error.what();
    CAPTURE(message);
    CHECK(error.origin().index == 17);
    CHECK(message.find("list") != std::string::npos);
    CHECK(message.find("15") != std::string::npos);
    CHECK(message.find("5") != std::string::npos);
  }
  CHECK(delivered == 2);
}

TEST_CASE(
    "several samples of one record: each exactly once, each with its part and its own draws") {
  Watchdog watchdog("expanded records");
  struct Draw {
    Schema schema(const Schema& in) const {
      Schema out = in;
      out.put(FieldSpec::fixed("part", DType::int64, Shape{}));
      out.put(FieldSpec::fixed("draw", DType::uint64, Shape{}));
      return out;
    }
    void operator()(Sample& sample, Random& random) const {
      sample.set_scalar<std::int64_t>("part", sample.origin().part);
      sample.set_scalar<std::uint64_t>("draw", random.bits64());
    }
  };
  const std::vector<std::int64_t> counts{3, 0, 1, 5, 2, 4};
  auto deliver = [&counts](int threads) {
    Loader loader = Pipeline::from(Expanded(table({.records = 6}), counts))
                        .order(Shuffled{.seed = 2})
                        .then(Draw{})
                        .batch({.size = 4})
                        .build({.runtime = Runtime({.threads = threads})});
    CHECK(loader.samples_per_epoch() == 15);
    return stream_of(loader, 0, 2).batches;
  };
  CHECK(same(deliver(1), deliver(8)));

  Loader loader = Pipeline::from(Expanded(table({.records = 6}), counts))
                      .order(Shuffled{.seed = 2})
                      .then(Draw{})
                      .batch({.size = 4})
                      .build({.runtime = Runtime({.threads = 2})});
  std::vector<std::vector<int>> seen(6, std::vector<int>(5, 0));
  std::vector<std::uint64_t> draws;
  for (Batch& batch : loader.epoch(0)) {
    const std::vector<Origin> origins = batch.origins();
    for (std::int64_t row = 0; row < batch.size(); ++row) {
      const auto record = batch["index"].row(row).item<std::int64_t>();
      const auto part = batch["part"].row(row).item<std::int64_t>();
      CHECK(origins[static_cast<std::size_t>(row)].part == part);
      seen.at(static_cast<std::size_t>(record)).at(static_cast<std::size_t>(part)) += 1;
      draws.push_back(batch["draw"].row(row).item<std::uint64_t>());
    }
  }
  for (std::size_t record = 0; record < 6; ++record)
    for (std::size_t part = 0; part < 5; ++part)
      CHECK(seen[record][part] == (std::cmp_less(part, counts[record]) ? 1 : 0));
  std::sort(draws.begin(), draws.end());
  CHECK(std::adjacent_find(draws.begin(), draws.end()) == draws.end());
}

TEST_CASE("folds of a source are disjoint and together the whole, each record once") {
  Watchdog watchdog("folds");
  const Runtime runtime({.threads = 2});
  for (bool gathers : {false, true}) {
    const auto whole = table({.records = 30, .gathers = gathers});
    std::vector<int> seen(30, 0);
    for (std::int64_t fold = 0; fold < 3; ++fold) {
      std::vector<std::int64_t> indices;
      for (std::int64_t index = fold; index < 30; index += 3)
        indices.push_back(index);
      Loader loader = Pipeline::from(Subset(whole, indices))
                          .order(Shuffled{.seed = 4})
                          .batch({.size = 4})
                          .build({.runtime = runtime});
      for (Batch& batch : loader.epoch(0))
        for (std::int64_t index : indices_of(batch)) {
          CHECK(index % 3 == fold);
          seen.at(static_cast<std::size_t>(index)) += 1;
        }
    }
    CHECK(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }));
  }
}
