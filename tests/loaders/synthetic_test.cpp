#include <headrace/engine/base/error.h>
#include <headrace/loaders/synthetic/synthetic.h>
#include <headrace/tests/loaders/gathered.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <set>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

Schema every_dtype() {
  Schema schema;
  for (int code = 0; code <= static_cast<int>(DType::boolean); ++code) {
    const auto dtype = static_cast<DType>(code);
    schema.put(FieldSpec::fixed(std::string(name_of(dtype)), dtype, {3, 7}));
  }
  return schema;
}

double wall_s(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double cpu_s(const std::function<void()>& work) {
  const auto now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double begin = now();
  work();
  return now() - begin;
}

}  // namespace

TEST_CASE("read, gather, expected and the table give the same bytes for every dtype") {
  const SyntheticSource source({.rows = 50, .fields = every_dtype(), .seed = 3});
  const auto indices = scattered(50, 80);
  const auto rows = gathered(source, indices);
  CHECK(rows == one_by_one(source, indices));
  CHECK(rows == gathered(source.table(), indices));
  const Tensor expected = source.expected(indices[0], "float32");
  CHECK(std::memcmp(expected.raw(), rows[10].data(), expected.bytes()) == 0);
}

TEST_CASE("content depends on seed, record and field") {
  const auto content = [](std::uint64_t seed, std::int64_t index, const char* field) {
    const Schema schema{FieldSpec::fixed("a", DType::uint64, {4}),
                        FieldSpec::fixed("b", DType::uint64, {4})};
    const Tensor tensor = SyntheticSource({.fields = schema, .seed = seed}).expected(index, field);
    const auto values = tensor.values<std::uint64_t>();
    return std::vector<std::uint64_t>(values.begin(), values.end());
  };
  CHECK(content(1, 2, "a") == content(1, 2, "a"));
  CHECK(content(1, 2, "a") != content(1, 3, "a"));
  CHECK(content(1, 2, "a") != content(2, 2, "a"));
  CHECK(content(1, 2, "a") != content(1, 2, "b"));
}

TEST_CASE("floats are in [0, 1), booleans 0 or 1, labels 0 to 9") {
  Schema schema = every_dtype();
  schema.put(FieldSpec::fixed("label", DType::int64, {}));
  const SyntheticSource source({.rows = 200, .fields = schema});
  std::set<std::int64_t> labels;
  for (std::int64_t i = 0; i < 200; ++i) {
    Sample sample;
    source.read(i, sample);
    for (float x : sample["float32"].values<float>())
      CHECK((x >= 0 && x < 1));
    for (double x : sample["float64"].values<double>())
      CHECK((x >= 0 && x < 1));
    for (float16_t x : sample["float16"].values<float16_t>())
      CHECK(x.bits < 0x3c00);
    for (bfloat16_t x : sample["bfloat16"].values<bfloat16_t>())
      CHECK(x.bits < 0x3f80);
    const auto* flags = static_cast<const std::uint8_t*>(sample["boolean"].raw());
    CHECK(std::all_of(flags, flags + 21, [](std::uint8_t flag) { return flag <= 1; }));
    labels.insert(sample["label"].item<std::int64_t>());
  }
  CHECK(labels.size() == 10);
  CHECK(*labels.begin() == 0);
  CHECK(*labels.rbegin() == 9);
}

TEST_CASE("padded and ragged fields have sizes within their bounds and are not gathered") {
  const Schema schema{FieldSpec::padded("mask", DType::uint8, {4, 6}),
                      FieldSpec::ragged("points", DType::float32, 9)};
  const SyntheticSource source({.rows = 300, .fields = schema});
  CHECK_FALSE(source.gathers());
  CHECK_THROWS_AS(source.table(), ConfigError);
  std::set<std::int64_t> sizes;
  for (std::int64_t i = 0; i < source.size(); ++i) {
    Sample sample;
    source.read(i, sample);
    CHECK(sample["mask"].shape()[0] <= 4);
    CHECK(sample["mask"].shape()[1] <= 6);
    CHECK(sample["mask"].elements() >= 1);
    sizes.insert(sample["points"].elements());
  }
  CHECK(sizes.size() == 9);
}

TEST_CASE("planted failures throw, in read and in gather, and only there") {
  const SyntheticSource source({.rows = 10, .failing = {7, 2}});
  for (std::int64_t i = 0; i < 10; ++i) {
    Sample sample;
    const bool fails = message_of<DataError>([&] { source.read(i, sample); }) != "";
    CHECK(fails == (i == 2 || i == 7));
    const std::vector<std::int64_t> indices{0, i};
    CHECK(fails == (message_of<DataError>([&] { gathered(source, indices); }) != ""));
  }
}

TEST_CASE("planted delays fall on every k-th record, asleep or busy") {
  using namespace std::chrono_literals;
  const SyntheticSource sleepy({.rows = 8, .delay = 20ms, .slow_every = 4});
  const SyntheticSource busy({.rows = 8, .delay = 20ms, .slow_every = 4, .kind = Delay::busy});
  const std::vector<std::int64_t> slow{0, 4}, quick{1, 2, 3, 5, 6, 7};
  CHECK(wall_s([&] { gathered(sleepy, slow); }) >= 0.04);
  CHECK(wall_s([&] { gathered(busy, slow); }) >= 0.04);
  CHECK(cpu_s([&] { gathered(sleepy, slow); }) < 0.02);
  CHECK(cpu_s([&] { gathered(sleepy, quick); }) < 0.02);
}

TEST_CASE("options that make no sense are refused") {
  CHECK_THROWS_AS(SyntheticSource({.rows = -1}), ConfigError);
  CHECK_THROWS_AS(SyntheticSource({.fields = Schema{}}), ConfigError);
  CHECK_THROWS_AS(SyntheticSource({.slow_every = 0}), ConfigError);
}

}  // namespace headrace::test
