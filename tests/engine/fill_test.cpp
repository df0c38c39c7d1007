// The fill of padded fields: what each dtype can hold, and the refusal of what it cannot.
#include <headrace/engine/headrace.h>
#include <headrace/tests/engine/test_sources.h>
#include <headrace/tests/engine/test_support.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// One row of no elements: the batch holds the fill alone.
class Hollow final : public Source {
 public:
  Hollow(DType dtype, double fill) : spec_(FieldSpec::padded("mask", dtype, Shape{3}, fill)) {}
  std::string name() const override { return "hollow"; }
  std::int64_t size() const override { return 1; }
  Schema fields() const override { return {spec_}; }
  void read(std::int64_t, Sample& sample) const override {
    sample.make("mask", spec_.dtype, Shape{0});
  }

 private:
  FieldSpec spec_;
};

Loader filled_with(DType dtype, double fill) {
  return Pipeline::from(Hollow(dtype, fill))
      .batch({.size = 1})
      .build({.runtime = Runtime({.threads = 1})});
}

/// The refusal of build(), or nothing where there was none.
std::string refusal(DType dtype, double fill) {
  try {
    filled_with(dtype, fill);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

/// The bytes of one element of the batch, which are those of all.
std::string delivered(DType dtype, double fill) {
  Loader loader = filled_with(dtype, fill);
  const std::string bytes = bytes_of(loader.next().batch["mask"]);
  const std::string one = bytes.substr(0, size_of(dtype));
  CHECK((bytes == one + one + one));
  return one;
}

template <class T>
std::string bytes_of_value(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// Whole numbers from `lowest` to `highest`, both of which a double holds, and nothing beside them.
template <class T>
void check_whole(DType dtype, double lowest, double highest) {
  for (const double fill : {lowest, highest, 0.0, -0.0, 1.0, 7.0}) {
    CAPTURE(fill);
    CHECK(refusal(dtype, fill).empty());
    CHECK((delivered(dtype, fill) == bytes_of_value(static_cast<T>(fill))));
  }
  const double inward = std::nextafter(lowest, 0.0);
  for (const double fill :
       {std::nextafter(lowest - 1, -infinity), lowest - 1 - std::abs(lowest), 2 * highest + 2, 0.5,
        -0.5, 1e300, -1e300, not_a_number, infinity, -infinity}) {
    CAPTURE(fill);
    CHECK_FALSE(refusal(dtype, fill).empty());
  }
  CHECK((inward == std::trunc(inward)) == refusal(dtype, inward).empty());
}

}  // namespace

TEST_CASE("a fill that its dtype cannot hold is refused with field, dtype and value") {
  const std::string message = refusal(DType::uint8, 300);
  CAPTURE(message);
  CHECK(message.find("[batch]") != std::string::npos);
  CHECK(message.find("fill") != std::string::npos);
  CHECK(message.find("\"mask\"") != std::string::npos);
  CHECK(message.find("uint8") != std::string::npos);
  CHECK(message.find("got 300;") != std::string::npos);
  CHECK(refusal(DType::int32, 4294967296.5).find("got 4294967296.5;") != std::string::npos);
  CHECK(refusal(DType::boolean, not_a_number).find("got nan;") != std::string::npos);
  CHECK(refusal(DType::float32, 1e300).find("got 1e+300;") != std::string::npos);
}

TEST_CASE("an integer field is filled with the whole numbers of its range alone") {
  check_whole<std::uint8_t>(DType::uint8, 0, 255);
  check_whole<std::int8_t>(DType::int8, -128, 127);
  check_whole<std::uint16_t>(DType::uint16, 0, 65535);
  check_whole<std::int16_t>(DType::int16, -32768, 32767);
  check_whole<std::uint32_t>(DType::uint32, 0, 4294967295.0);
  check_whole<std::int32_t>(DType::int32, -2147483648.0, 2147483647.0);
  check_whole<std::uint64_t>(DType::uint64, 0, std::nextafter(0x1p64, 0.0));
  check_whole<std::int64_t>(DType::int64, -0x1p63, std::nextafter(0x1p63, 0.0));
  for (const double fill : {256.0, -1.0, 255.5})
    CHECK_FALSE(refusal(DType::uint8, fill).empty());
  CHECK_FALSE(refusal(DType::int64, 0x1p63).empty());
  CHECK_FALSE(refusal(DType::uint64, 0x1p64).empty());
}

TEST_CASE("a boolean field is filled with 0 or 1") {
  CHECK((delivered(DType::boolean, 0) == bytes_of_value(false)));
  CHECK((delivered(DType::boolean, 1) == bytes_of_value(true)));
  for (const double fill : {2.0, -1.0, 0.5, not_a_number, infinity})
    CHECK_FALSE(refusal(DType::boolean, fill).empty());
}

TEST_CASE("a float field is filled with numbers up to its largest, infinity and NaN") {
  using Bits = std::uint16_t;
  CHECK((delivered(DType::float16, 65504) == bytes_of_value<Bits>(0x7bff)));
  CHECK((delivered(DType::float16, -65504) == bytes_of_value<Bits>(0xfbff)));
  CHECK((delivered(DType::float16, 0.1) == bytes_of_value<Bits>(0x2e66)));
  CHECK((delivered(DType::float16, infinity) == bytes_of_value<Bits>(0x7c00)));
  CHECK((delivered(DType::float16, -infinity) == bytes_of_value<Bits>(0xfc00)));
  CHECK((delivered(DType::float16, not_a_number) == bytes_of_value<Bits>(0x7e00)));
  CHECK((delivered(DType::bfloat16, 0x1.fep127) == bytes_of_value<Bits>(0x7f7f)));
  CHECK((delivered(DType::bfloat16, -0.1) == bytes_of_value<Bits>(0xbdcd)));
  CHECK((delivered(DType::bfloat16, infinity) == bytes_of_value<Bits>(0x7f80)));
  CHECK((delivered(DType::bfloat16, not_a_number) == bytes_of_value<Bits>(0x7fc0)));
  const double odd_nan = std::nan("0xfffffffffffff");
  CHECK((delivered(DType::bfloat16, odd_nan) == bytes_of_value<Bits>(0x7fff)));
  for (const double fill : {0.1, -7.0, 16777217.0, 0x1.fffffep127, infinity, -infinity})
    CHECK((delivered(DType::float32, fill) == bytes_of_value(static_cast<float>(fill))));
  for (const double fill : {0.1, 1e308, -infinity, not_a_number})
    CHECK((delivered(DType::float64, fill) == bytes_of_value(fill)));
  for (const double fill : {65504.5, -65505.0, 1e300})
    CHECK_FALSE(refusal(DType::float16, fill).empty());
  for (const double fill : {0x1.fffffep127, -1e39})
    CHECK_FALSE(refusal(DType::bfloat16, fill).empty());
  for (const double fill : {std::nextafter(0x1.fffffep127, infinity), -1e39})
    CHECK_FALSE(refusal(DType::float32, fill).empty());
}

TEST_CASE("a field of any kind has a fill that fits: bad rows are given it") {
  FieldSpec spec = FieldSpec::fixed("index", DType::uint8, Shape{});
  spec.fill = -1;
  struct Step {
    FieldSpec spec;
    Schema schema(const Schema&) const { return {spec}; }
    void operator()(Sample& sample) const { sample.set_scalar<std::uint8_t>("index", 1); }
  };
  CHECK_THROWS_WITH_AS(
      Pipeline::from(table({.records = 8})).then(Step{spec}).batch({.size = 4}).build(),
      doctest::Contains("\"index\""), ConfigError);
}
