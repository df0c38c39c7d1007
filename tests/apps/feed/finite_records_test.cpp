#include <headrace/apps/feed/finite_records.h>
#include <headrace/apps/feed/wrapped_source.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/loaders/memory/table.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using app::finite_records;

namespace {

constexpr std::int64_t rows = 9;
constexpr std::int64_t row_values = 5;

template <class T>
std::shared_ptr<const Source> records(T bad) {
  std::vector<T> all(rows * row_values, T{});
  all[7 * row_values + 2] = bad;
  std::vector<std::int64_t> labels(rows, 1);
  return std::make_shared<const Table>(
      std::vector<TableColumn>{{"array", Tensor::of<T>(all, {rows, row_values})},
                               {"label", Tensor::of<std::int64_t>(labels, {rows})}},
      "features");
}

// As a source whose rows are read from a file.
class FromFile final : public app::WrappedSource {
 public:
  using WrappedSource::WrappedSource;
  bool read_now(std::int64_t index, Sample& sample) const override {
    read(index, sample);
    return true;
  }
  bool blocking() const override { return true; }
  bool gathers() const override { return false; }
};

// How an epoch over it ends.
std::string error_of(const std::shared_ptr<const Source>& source, int batch) {
  Loader loader = Pipeline::from(source).batch({.size = batch}).build();
  try {
    for (Batch& one : loader.epoch(0))
      static_cast<void>(one);
  } catch (const DataError& error) {
    return error.what();
  }
  return {};
}

template <class T>
void check_found(T bad) {
  for (const auto& source : {records(bad), std::shared_ptr<const Source>(
                                               std::make_shared<const FromFile>(records(bad)))}) {
    CAPTURE(source->blocking());
    const auto finite = finite_records(source);
    Sample sample;
    CHECK_NOTHROW(finite->read(6, sample));
    CHECK_THROWS_WITH_AS(finite->read(7, sample),
                         doctest::Contains("must hold finite numbers, got NaN or infinity"),
                         DataError);
    CHECK_FALSE(finite->read_now(7, sample));
    for (const int batch : {1, 4, 9})
      CHECK_MESSAGE(error_of(finite, batch).find("features[7]") != std::string::npos,
                    error_of(finite, batch));
    CHECK(error_of(source, 4).empty());  // nobody else sees it
  }
}

}  // namespace

TEST_CASE("a record that is not finite is a bad sample with its name, whatever its dtype") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  check_found(std::numeric_limits<float>::quiet_NaN());
  check_found(-std::numeric_limits<float>::infinity());
  check_found(inf);
  check_found(std::nan(""));
  check_found(float16_t{0x7c00});
  check_found(float16_t{0xfe00});
  check_found(bfloat16_t{0xff80});
}

TEST_CASE("records that are finite, or can be nothing else, are the source itself") {
  const auto largest = records(std::numeric_limits<float>::max());
  CHECK(finite_records(largest) == largest);
  const auto smallest = records(std::numeric_limits<double>::denorm_min());
  CHECK(finite_records(smallest) == smallest);
  const auto whole = records(std::uint8_t{255});
  CHECK(finite_records(whole) == whole);
}

TEST_CASE(
    "by rule a record that is not finite is replaced or left out, and gathered all the same") {
  const auto finite = finite_records(records(std::nan("")));
  CHECK(finite->gathers());
  for (const auto rule : {BadSamples::Rule::replace, BadSamples::Rule::shrink}) {
    Loader loader = Pipeline::from(finite).batch({.size = 4}).on_bad_sample({.rule = rule}).build();
    std::int64_t seen = 0;
    for (Batch& batch : loader.epoch(0)) {
      seen += batch.valid_rows().value_or(batch.size());
      const auto all = batch["array"].values<double>();
      for (const double value : all)
        CHECK(std::isfinite(value));
    }
    CHECK(seen == (rule == BadSamples::Rule::replace ? rows : rows - 1));
  }
}
