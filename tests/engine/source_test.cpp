#include <headrace/engine/base/error.h>
#include <headrace/engine/sample/expanded.h>
#include <headrace/engine/sample/subset.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using headrace::ConfigError;
using headrace::DType;
using headrace::Expanded;
using headrace::FieldSpec;
using headrace::PipelineError;
using headrace::Rows;
using headrace::Sample;
using headrace::Schema;
using headrace::Source;
using headrace::Subset;

/// Record i is ten times i.
class Tens : public Source {
 public:
  explicit Tens(std::int64_t size, bool gathers = false) : size_(size), gathers_(gathers) {}
  std::string name() const override { return "tens"; }
  std::int64_t size() const override { return size_; }
  Schema fields() const override {
    return {FieldSpec::fixed("value", DType::int64, {}),
            FieldSpec::fixed("pad", DType::uint8, {3})};
  }
  void read(std::int64_t index, Sample& sample) const override {
    sample.set_scalar("value", index * 10);
    sample.set_scalar("seen_part", sample.origin().part);
  }
  bool gathers() const override { return gathers_; }
  void gather(std::span<const std::int64_t> indices, const Rows& rows) const override {
    if (!gathers_) return Source::gather(indices, rows);
    for (std::int64_t k = 0; k < rows.count(); ++k) {
      const std::int64_t value = indices[static_cast<std::size_t>(k)] * 10;
      std::memcpy(rows.row(0, k), &value, sizeof(value));
    }
  }
  std::size_t resident_bytes() const override { return 1000; }

 private:
  std::int64_t size_;
  bool gathers_;
};

std::int64_t value_of(const Source& source, std::int64_t index) {
  Sample sample;
  source.read(index, sample);
  return sample["value"].item<std::int64_t>();
}

TEST_CASE("a source that says no more gets working bytes, an origin and a refusal to gather") {
  const Tens source(5);
  CHECK(source.working_bytes(2) == 11);
  CHECK(source.largest_working_bytes() == 11);
  CHECK(source.origin(3) == "tens#3");
  CHECK(source.part(3) == 0);
  CHECK_FALSE(source.gathers());
  const std::vector<std::int64_t> indices{1};
  CHECK_THROWS_WITH_AS(source.gather(indices, Rows({}, 1)),
                       "[tens] gather() was called, this source reads record by record",
                       PipelineError);
}

TEST_CASE("a subset shows the records of its indices, repeated ones too") {
  const Subset subset(std::make_shared<Tens>(10), {7, 0, 7, 3});
  CHECK(subset.size() == 4);
  CHECK(value_of(subset, 0) == 70);
  CHECK(value_of(subset, 3) == 30);
  CHECK(subset.origin(3) == "tens#3");
  CHECK(subset.name() == "tens (4 of 10)");
  CHECK(subset.resident_bytes() == 1000 + 32);
  CHECK(subset.fields() == Tens(1).fields());
  CHECK(Subset(std::make_shared<Tens>(10), {}).size() == 0);
}

TEST_CASE("a subset gathers the rows of its source, few or more than fit in place") {
  const auto source = std::make_shared<Tens>(10'000, true);
  std::vector<std::int64_t> picked(10'000);
  for (std::size_t i = 0; i < picked.size(); ++i)
    picked[i] = static_cast<std::int64_t>(9999 - i);
  const Subset inner(source, picked);
  const Subset outer(std::make_shared<Subset>(inner), picked);
  CHECK(inner.gathers());
  for (const std::size_t count : {3, 9000}) {
    std::vector<std::int64_t> indices(count), once(count, -1), twice(count, -1);
    std::iota(indices.begin(), indices.end(), 500);
    const auto rows = [&](std::vector<std::int64_t>& out) {
      return Rows::Column{reinterpret_cast<std::byte*>(out.data()), sizeof(std::int64_t)};
    };
    const std::vector<Rows::Column> first{rows(once)}, second{rows(twice)};
    inner.gather(indices, Rows(first, static_cast<std::int64_t>(count)));
    outer.gather(indices, Rows(second, static_cast<std::int64_t>(count)));
    CHECK(once.front() == (9999 - 500) * 10);
    CHECK(once.back() == (9999 - 500 - static_cast<std::int64_t>(count) + 1) * 10);
    CHECK(twice.front() == 5000);
    CHECK(twice.back() == (500 + static_cast<std::int64_t>(count) - 1) * 10);
  }
}

TEST_CASE("a subset refuses an index outside its source") {
  CHECK_THROWS_WITH_AS(Subset(std::make_shared<Tens>(10), {1, 10}),
                       "[subset] an index of \"tens\" is below 10, entry 1 is 10", ConfigError);
  CHECK_THROWS_AS(Subset(std::make_shared<Tens>(10), {-1}), ConfigError);
  CHECK_THROWS_AS(Subset(nullptr, {0}), ConfigError);
}

TEST_CASE("expanded by one number gives every record that many parts in turn") {
  const Expanded expanded(std::make_shared<Tens>(4), 3);
  CHECK(expanded.size() == 12);
  for (std::int64_t i = 0; i < 12; ++i) {
    CHECK(value_of(expanded, i) == i / 3 * 10);
    CHECK(expanded.part(i) == i % 3);
  }
  CHECK(expanded.origin(11) == "tens#3");
}

TEST_CASE("expanded by counts knows record and part of every index, and skips empty records") {
  const std::vector<std::int64_t> counts{2, 0, 3, 1, 0};
  const Expanded expanded(std::make_shared<Tens>(5), counts);
  CHECK(expanded.size() == 6);
  const std::vector<std::int64_t> records{0, 0, 2, 2, 2, 3}, parts{0, 1, 0, 1, 2, 0};
  for (std::size_t i = 0; i < 6; ++i) {
    const auto index = static_cast<std::int64_t>(i);
    CHECK(value_of(expanded, index) == records[i] * 10);
    CHECK(expanded.part(index) == parts[i]);
  }
}

TEST_CASE("the part is known to the source while it reads, also through a subset") {
  const auto expanded = std::make_shared<Expanded>(std::make_shared<Tens>(4), 3);
  const Subset subset(expanded, {5, 4});
  Sample sample;
  subset.read(0, sample);
  CHECK(sample["seen_part"].item<std::int64_t>() == 2);
  CHECK(sample.origin().part == 2);
  CHECK(subset.part(1) == 1);
}

TEST_CASE("counts that do not fit the records are refused") {
  const auto source = std::make_shared<Tens>(3);
  const std::vector<std::int64_t> two{1, 1}, negative{1, -1, 1};
  CHECK_THROWS_WITH_AS(Expanded(source, two), "[expanded] \"tens\" has 3 records, got 2 counts",
                       ConfigError);
  CHECK_THROWS_WITH_AS(Expanded(source, negative),
                       "[expanded] a count is at least 0, record 1 has -1", ConfigError);
  CHECK_THROWS_AS(Expanded(source, 0), ConfigError);
  CHECK_THROWS_AS(Expanded(nullptr, 2), ConfigError);
}

}  // namespace
