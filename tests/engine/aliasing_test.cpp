// Values that share memory: rows, views and fields made anew.
#include <headrace/engine/headrace.h>
#include <headrace/tests/engine/test_support.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;

namespace {

/// Record i: `columns` int64 scalars c0, c1, ... of value 100 i + column; gathers.
class Columns final : public Source {
 public:
  Columns(std::int64_t records, std::size_t columns) : records_(records), columns_(columns) {}
  std::string name() const override { return "columns"; }
  std::int64_t size() const override { return records_; }
  Schema fields() const override {
    Schema schema;
    for (std::size_t c = 0; c < columns_; ++c) {
      schema.put(FieldSpec::fixed("c" + std::to_string(c), DType::int64, Shape{}));
    }
    return schema;
  }
  void read(std::int64_t index, Sample& sample) const override {
    for (std::size_t c = 0; c < columns_; ++c) {
      sample.set_scalar<std::int64_t>("c" + std::to_string(c), value(index, c));
    }
  }
  bool gathers() const override { return true; }
  void gather(std::span<const std::int64_t> indices, const Rows& rows) const override {
    for (std::size_t k = 0; k < indices.size(); ++k) {
      for (std::size_t c = 0; c < rows.fields(); ++c) {
        *reinterpret_cast<std::int64_t*>(rows.row(c, static_cast<std::int64_t>(k))) =
            value(indices[k], c);
      }
    }
  }
  static std::int64_t value(std::int64_t index, std::size_t column) {
    return 100 * index + static_cast<std::int64_t>(column);
  }

 private:
  std::int64_t records_;
  std::size_t columns_;
};

std::vector<std::int64_t> values(const Tensor& tensor) {
  const auto span = tensor.values<std::int64_t>();
  return {span.begin(), span.end()};
}

LoaderOptions small() {
  return {.prefetch = 1, .runtime = Runtime({.threads = 2})};
}

}  // namespace

TEST_CASE("a source with more fields than one gather takes is read row by row") {
  Loader loader = Pipeline::from(Columns(10, 70)).batch({.size = 5}).build(small());
  std::int64_t row = 0;
  for (Batch& batch : loader.epoch(0)) {
    for (std::int64_t k = 0; k < batch.size(); ++k, ++row) {
      CHECK(values(batch["c69"])[static_cast<std::size_t>(k)] == Columns::value(row, 69));
    }
  }
  CHECK(row == 10);
}

TEST_CASE("a step may keep the original of a field that a later step makes anew") {
  struct Keep {
    Schema schema(const Schema& in) const {
      Schema out = in;
      out.put(FieldSpec::fixed("original", DType::int64, Shape{}));
      return out;
    }
    void operator()(Sample& sample) const { sample.set("original", sample["c0"]); }
  };
  Loader loader = Pipeline::from(Columns(8, 1))
                      .then(Keep{})
                      .then([](Sample& sample) {
                        const std::int64_t old = sample["c0"].item<std::int64_t>();
                        sample.set_scalar<std::int64_t>("c0", -old);
                      })
                      .batch({.size = 8})
                      .build(small());
  for (Batch& batch : loader.epoch(0)) {
    CHECK(values(batch["original"])[3] == 300);
    CHECK(values(batch["c0"])[3] == -300);
  }
}

TEST_CASE("two fields may be exchanged") {
  Loader loader = Pipeline::from(Columns(8, 2))
                      .then([](Sample& sample) {
                        const Tensor a = sample["c0"];
                        const Tensor b = sample["c1"];
                        sample.set("c0", b);
                        sample.set("c1", a);
                      })
                      .batch({.size = 8})
                      .build(small());
  for (Batch& batch : loader.epoch(0)) {
    CHECK(values(batch["c0"])[2] == 201);
    CHECK(values(batch["c1"])[2] == 200);
  }
}

TEST_CASE("a batch step that stores a view of its batch does not keep the slab") {
  Loader loader = Pipeline::from(Columns(400, 1))
                      .batch({.size = 4})
                      .then([](Batch& batch) {
                        batch.set("view", batch["c0"]);
                        batch.make("double", DType::int64, Shape{4});
                        batch.set("view of made", batch["double"].rows(0, 2));
                      })
                      .build(small());
  std::int64_t batches = 0;
  for (Batch& batch : loader.epoch(0)) {
    CHECK(values(batch["view"]) == values(batch["c0"]));
    ++batches;
  }
  CHECK(batches == 100);
}

TEST_CASE("a batch step that makes a field anew reads the old one and writes another memory") {
  Loader loader = Pipeline::from(Columns(40, 1))
                      .batch({.size = 4})
                      .then([](Batch& batch) {
                        const Tensor in = batch["c0"];
                        Tensor out = batch.make("c0", DType::int64, Shape{4});
                        for (int k = 0; k < 4; ++k)
                          out.data<std::int64_t>()[k] = in.data<std::int64_t>()[k] + 1;
                      })
                      .then([](Batch& batch) {
                        const Tensor in = batch["c0"];
                        Tensor out = batch.make("c0", DType::int64, Shape{4});
                        for (int k = 0; k < 4; ++k)
                          out.data<std::int64_t>()[k] = in.data<std::int64_t>()[3 - k];
                      })
                      .build(small());
  std::int64_t first = 0;
  for (Batch& batch : loader.epoch(0)) {
    CHECK(values(batch["c0"]) == std::vector<std::int64_t>{100 * (first + 3) + 1,
                                                           100 * (first + 2) + 1,
                                                           100 * (first + 1) + 1, 100 * first + 1});
    first += 4;
  }
}

TEST_CASE(
    "a view of a value that has been replaced may be a field again and does not keep the slab") {
  Loader loader = Pipeline::from(Columns(400, 1))
                      .batch({.size = 4})
                      .then([](Batch& batch) {
                        batch.set("a", Tensor::scalar(std::int64_t{1}));
                        batch.set("b", Tensor::scalar(std::int64_t{2}));
                        const Tensor a = batch["a"];
                        batch.set("a", batch["b"]);
                        batch.set("b", a);
                        *batch.make("made", DType::int64, Shape{1}).data<std::int64_t>() = 3;
                        const Tensor made = batch["made"];
                        *batch.make("made", DType::int64, Shape{1}).data<std::int64_t>() = 4;
                        batch.set("before", made);
                      })
                      .build(small());
  std::int64_t batches = 0;
  for (Batch& batch : loader.epoch(0)) {
    CHECK(batch["a"].item<std::int64_t>() == 2);
    CHECK(batch["b"].item<std::int64_t>() == 1);
    CHECK(batch["before"].item<std::int64_t>() == 3);
    CHECK(batch["made"].item<std::int64_t>() == 4);
    ++batches;
  }
  CHECK(batches == 100);
}

TEST_CASE("what make() gives stays good while more fields are made") {
  Loader loader =
      Pipeline::from(Columns(40, 1))
          .batch({.size = 4})
          .then([](Batch& batch) {
            auto&& first = batch.make("first", DType::int64, Shape{4});
            CHECK(std::is_same_v<decltype(batch.make("x", DType::int64, Shape{4})), Tensor>);
            for (int k = 0; k < 20; ++k)
              batch.make(std::to_string(k), DType::int64, Shape{4 + k});
            for (int k = 0; k < 4; ++k)
              first.data<std::int64_t>()[k] = k;
          })
          .build(small());
  for (Batch& batch : loader.epoch(0))
    CHECK(values(batch["first"]) == std::vector<std::int64_t>{0, 1, 2, 3});
}

TEST_CASE("a field that holds a view of a made one keeps it while that one is made again") {
  Loader loader = Pipeline::from(Columns(40, 1))
                      .batch({.size = 4})
                      .then([](Batch& batch) {
                        for (std::int64_t round = 0; round < 5; ++round) {
                          const Tensor made = batch.make("made", DType::int64, Shape{4});
                          std::ranges::fill(made.values<std::int64_t>(), round);
                          if (round == 1) batch.set("kept", batch["made"].rows(1, 3));
                        }
                      })
                      .build(small());
  for (Batch& batch : loader.epoch(0)) {
    CHECK(values(batch["kept"]) == std::vector<std::int64_t>{1, 1});
    CHECK(values(batch["made"]) == std::vector<std::int64_t>{4, 4, 4, 4});
  }
}

TEST_CASE("an undefined tensor is no value of a field") {
  Loader loader = Pipeline::from(Columns(8, 1))
                      .then([](Sample& sample) { sample.set("c0", Tensor()); })
                      .batch({.size = 8})
                      .build(small());
  CHECK_THROWS_WITH_AS(loader.next(), doctest::Contains("undefined"), DataError);
}

TEST_CASE("the rules for bad samples do not hide what is no fault of a sample") {
  const auto with = [](auto step) {
    Loader loader = Pipeline::from(Columns(8, 1))
                        .then(step)
                        .on_bad_sample({.rule = BadSamples::Rule::shrink})
                        .batch({.size = 8})
                        .build(small());
    return loader.next().status;
  };
  CHECK_THROWS_AS(with([](Sample& sample) { sample["c0"].data<float>(); }), ConfigError);
  CHECK_THROWS_AS(with([](Sample&) { throw std::bad_alloc(); }), ResourceError);
  CHECK(with([](Sample&) { throw DataError("torn"); }) == NextBatch::Status::ready);
}

TEST_CASE("the share of bad samples is counted for each epoch") {
  Loader loader = Pipeline::from(Columns(100, 1))
                      .then([](Sample& sample) {
                        if (sample["c0"].item<std::int64_t>() == 4200) throw DataError("torn");
                      })
                      .on_bad_sample({.rule = BadSamples::Rule::shrink, .most_share = 0.015})
                      .batch({.size = 10})
                      .build(small());
  for (std::int64_t epoch = 0; epoch < 5; ++epoch) {
    std::int64_t rows = 0;
    for (Batch& batch : loader.epoch(epoch))
      rows += batch.size();
    CHECK(rows == 100);
  }
}
