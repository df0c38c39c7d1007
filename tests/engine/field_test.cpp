#include <headrace/engine/base/error.h>
#include <headrace/engine/tensor/field.h>

#include <type_traits>

#include <doctest/doctest.h>

namespace {

using headrace::ConfigError;
using headrace::DType;
using headrace::FieldSpec;
using headrace::Schema;
using headrace::Shape;

TEST_CASE("a field knows the bytes of its row") {
  CHECK(FieldSpec::fixed("image", DType::uint8, {224, 224, 3}).row_bytes() == 150'528);
  CHECK(FieldSpec::fixed("label", DType::int64, {}).row_bytes() == 8);
  const auto padded = FieldSpec::padded("text", DType::int32, {128}, -1);
  CHECK(padded.row_bytes() == 512);
  CHECK(padded.fill == -1);
  const auto ragged = FieldSpec::ragged("tokens", DType::uint16, 1000);
  CHECK(ragged.shape == Shape{1000});
  CHECK(ragged.kind == FieldSpec::Kind::ragged);
  CHECK_THROWS_AS((void)FieldSpec::ragged("huge", DType::float64, 1LL << 61).row_bytes(),
                  ConfigError);
}

TEST_CASE("a schema keeps the order of its fields, replaces and removes by name") {
  Schema schema{FieldSpec::fixed("image", DType::uint8, {224, 224, 3}),
                FieldSpec::fixed("label", DType::int64, {})};
  CHECK(to_string(schema) == "{image: uint8 [224, 224, 3], label: int64 []}");
  schema.put(FieldSpec::fixed("image", DType::float32, {3, 8, 8}));
  CHECK(schema.size() == 2);
  CHECK(schema[0].dtype == DType::float32);
  schema.put(FieldSpec::padded("words", DType::int32, {9}));
  CHECK(schema[2].name == "words");
  schema.remove("label");
  CHECK(schema.find("label") == nullptr);
  CHECK(schema.at("words").kind == FieldSpec::Kind::padded);
  CHECK(to_string(schema) == "{image: float32 [3, 8, 8], words: int32 [9] padded}");
}

TEST_CASE("a field of a schema that is about to go is a copy") {
  const auto made = [] { return Schema{FieldSpec::fixed("image", DType::uint8, {7, 9, 3})}; };
  static_assert(std::is_same_v<decltype(made().at("image")), FieldSpec>);
  CHECK(made().at("image").shape == Shape{7, 9, 3});
  CHECK_THROWS_AS((void)made().at("label"), ConfigError);
}

TEST_CASE("a missing field is answered with the fields that exist") {
  const Schema schema{FieldSpec::fixed("a", DType::uint8, {}),
                      FieldSpec::fixed("b", DType::uint8, {})};
  CHECK_THROWS_WITH_AS((void)schema.at("image", "flip"),
                       "[flip] field \"image\" is needed, the fields are: a, b", ConfigError);
  Schema none;
  CHECK_THROWS_WITH_AS(none.remove("x"), "[schema] field \"x\" is needed, the fields are: none",
                       ConfigError);
}

TEST_CASE("a field without a name and a name given twice are refused") {
  CHECK_THROWS_AS(Schema().put(FieldSpec{}), ConfigError);
  CHECK_THROWS_WITH_AS(
      (Schema{FieldSpec::fixed("a", DType::uint8, {}), FieldSpec::fixed("a", DType::int8, {})}),
      "[schema] field \"a\" is given twice", ConfigError);
}

TEST_CASE("schemas are values") {
  const Schema a{FieldSpec::fixed("a", DType::uint8, {4})};
  Schema b = a;
  CHECK(a == b);
  b.put(FieldSpec::fixed("a", DType::uint8, {5}));
  CHECK_FALSE(a == b);
}

}  // namespace
