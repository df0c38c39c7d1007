#include <headrace/engine/tensor/half_floats.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <doctest/doctest.h>

using namespace headrace;

namespace {

std::uint16_t half(float value) {
  float16_t to;
  from_float(value, to);
  return to.bits;
}

std::uint16_t brain(float value) {
  bfloat16_t to;
  from_float(value, to);
  return to.bits;
}

}  // namespace

TEST_CASE("every half-precision value comes back from the float that it is") {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto stored = static_cast<std::uint16_t>(bits);
    const float as_half = to_float(float16_t{stored});
    const float as_brain = to_float(bfloat16_t{stored});
    if (!std::isnan(as_half)) REQUIRE(half(as_half) == stored);
    if (!std::isnan(as_brain)) REQUIRE(brain(as_brain) == stored);
    CHECK(std::isnan(as_half) == ((bits & 0x7fffU) > 0x7c00U));
    CHECK(std::isnan(as_brain) == ((bits & 0x7fffU) > 0x7f80U));
  }
  CHECK(to_float(float16_t{0x3c00}) == 1.0F);
  CHECK(to_float(float16_t{0xc000}) == -2.0F);
  CHECK(to_float(float16_t{1}) == 0x1p-24F);
  CHECK(to_float(bfloat16_t{0x3f80}) == 1.0F);
}

TEST_CASE("floats are rounded to the nearest half, ties to even, too large ones to infinity") {
  CHECK(half(1.0F + 0x1p-11F) == 0x3c00);
  CHECK(half(1.0F + 3 * 0x1p-11F) == 0x3c02);
  CHECK(half(std::nextafter(1.0F + 0x1p-11F, 2.0F)) == 0x3c01);
  CHECK(half(0x1p-25F) == 0);
  CHECK(half(65519.0F) == 0x7bff);
  CHECK(half(65520.0F) == 0x7c00);
  CHECK(half(-std::numeric_limits<float>::infinity()) == 0xfc00);
  CHECK(brain(1.0F + 0x1p-8F) == 0x3f80);
  CHECK(brain(1.0F + 3 * 0x1p-8F) == 0x3f82);
  CHECK(std::isnan(to_float(float16_t{half(std::numeric_limits<float>::quiet_NaN())})));
  CHECK(std::isnan(to_float(bfloat16_t{brain(std::numeric_limits<float>::quiet_NaN())})));
}
