#include <headrace/engine/base/error.h>
#include <headrace/engine/tensor/dtype.h>
#include <headrace/engine/tensor/shape.h>

#include <array>
#include <limits>

#include <doctest/doctest.h>

namespace {

using headrace::ConfigError;
using headrace::DType;
using headrace::Shape;

TEST_CASE("a shape counts its elements and shows its extents") {
  CHECK(Shape{}.elements() == 1);
  CHECK(Shape{}.rank() == 0);
  CHECK(Shape{224, 224, 3}.elements() == 150'528);
  CHECK(Shape{5, 0, 3}.elements() == 0);
  CHECK(to_string(Shape{224, 224, 3}) == "[224, 224, 3]");
  CHECK(to_string(Shape{}) == "[]");
}

TEST_CASE("shapes are equal when rank and extents are") {
  CHECK(Shape{2, 3} == Shape{2, 3});
  CHECK_FALSE(Shape{2, 3} == Shape{3, 2});
  CHECK_FALSE(Shape{2, 3} == Shape{2, 3, 1});
  CHECK(Shape{7, 2, 3}.row() == Shape{2, 3});
  CHECK(Shape{2, 3}.batched(7) == Shape{7, 2, 3});
  CHECK(Shape{}.batched(4) == Shape{4});
}

TEST_CASE("impossible shapes are refused with what came") {
  CHECK_THROWS_WITH_AS((Shape{1, 2, 3, 4, 5, 6, 7, 8, 9}),
                       "[shape] a shape has at most 8 extents, got 9", ConfigError);
  CHECK_THROWS_WITH_AS((Shape{3, -1}), "[shape] an extent is at least 0, got -1", ConfigError);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(Shape{most}.elements() == most);
  CHECK(Shape{most, 0}.elements() == 0);
  CHECK(Shape{most, 2, 0}.elements() == 0);
  CHECK_THROWS_AS((void)(Shape{most, 2}.elements()), ConfigError);
  CHECK_THROWS_AS((void)(Shape{1LL << 32, 1LL << 32, 1LL << 32}.elements()), ConfigError);
  CHECK_THROWS_AS((void)Shape{}.row(), ConfigError);
  CHECK_THROWS_AS((void)(Shape{1, 2, 3, 4, 5, 6, 7, 8}.batched(2)), ConfigError);
  Shape shape{2, 3};
  shape.set(1, 9);
  CHECK(shape == Shape{2, 9});
  CHECK_THROWS_AS(shape.set(2, 1), ConfigError);
  CHECK_THROWS_AS(shape.set(0, -4), ConfigError);
}

TEST_CASE("dtypes have the sizes and names of their C++ types") {
  CHECK(headrace::size_of(DType::float64) == 8);
  CHECK(headrace::size_of(DType::bfloat16) == 2);
  CHECK(headrace::size_of(DType::boolean) == sizeof(bool));
  CHECK(headrace::name_of(DType::uint16) == "uint16");
  CHECK(headrace::dtype_of<float> == DType::float32);
  CHECK(headrace::size_of(headrace::dtype_of<headrace::float16_t>) == sizeof(headrace::float16_t));
}

}  // namespace
