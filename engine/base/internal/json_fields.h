#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>

// Structs to JSON and back out of one list of their fields, in the struct's own namespace:
//
//   void fields(of_type<Range> auto& range, const auto& field) {
//     field("low", range.low);
//     field.if_there("high", range.high);
//   }
namespace headrace::inline v1 {

/// `Type` is `Of`, const or not.
template <class Type, class Of>
concept of_type = std::same_as<std::remove_const_t<Type>, Of>;

namespace detail {

struct AnyField {
  void operator()(const char* /*key*/, const auto& /*value*/) const {}
};

template <class Type>
concept HasFields = requires(const Type& value, const AnyField& field) {
  fields(value, field);
};

template <class Type>
concept OptionalValue = requires(const Type& value) {
  value.has_value();
};

template <class Type>
concept ListOfFields = HasFields<typename Type::value_type> && !OptionalValue<Type>;

}  // namespace detail

/// The value as JSON of nlohmann's kind: structs with a list of fields, and lists of them, as
/// objects with the keys in that order, an empty std::optional as null.
template <class Json, class Value>
Json write_fields(const Value& value);

/// What write_fields() gave; all else is read by `Values`. Throws nlohmann's exceptions for a key
/// that is missing and a value of another kind.
template <class Values, class Json, class Value>
void read_fields(const Json& json, Value& value);

/// Puts fields into an object.
template <class Json>
struct FieldWriter {
  Json& object;

  template <class Value>
  void operator()(const char* key, const Value& value) const {
    object[key] = write_fields<Json>(value);
  }
  /// Of an empty std::optional no key.
  template <class Value>
  void if_there(const char* key, const Value& value) const {
    if constexpr (detail::OptionalValue<Value>)
      if (!value) return;
    (*this)(key, value);
  }
  /// For who reads the file: it follows from other fields and is not read back.
  void told(const char* key, const auto& value) const { (*this)(key, value); }
};

/// Takes fields out of an object.
template <class Values, class Json>
struct FieldReader {
  const Json& object;

  void operator()(const char* key, auto& value) const {
    read_fields<Values>(object.at(key), value);
  }
  /// Without the key the value stays.
  template <class Value>
  void if_there(const char* key, Value& value) const {
    const auto found = object.find(key);
    if (found == object.end()) return;
    if constexpr (detail::OptionalValue<Value>)
      read_fields<Values>(*found, value.emplace());
    else
      read_fields<Values>(*found, value);
  }
  void told(const char* /*key*/, const auto& /*value*/) const {}
};

/// A number as JSON, which has neither infinities nor NaN: "inf", "-inf" and null stand for them.
template <class Json>
Json number_json(double value) {
  if (std::isnan(value)) return nullptr;
  return std::isfinite(value) ? Json(value) : Json(value > 0.0 ? "inf" : "-inf");
}

/// What number_json() was given. Throws nlohmann's exceptions for what is neither.
template <class Json>
double json_number(const Json& json) {
  if (json.is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (json == "inf") return std::numeric_limits<double>::infinity();
  if (json == "-inf") return -std::numeric_limits<double>::infinity();
  return json.template get<double>();
}

/// Names and their numbers as an object.
template <class Json>
Json numbers_json(const auto& numbers) {
  Json object = Json::object();
  for (const auto& [name, value] : numbers)
    object[name] = number_json<Json>(value);
  return object;
}

/// Values that are no structs with a list of fields, as nlohmann reads them, and infinite numbers.
struct PlainValues {
  static void read(const auto& json, auto& value) { json.get_to(value); }
  static void read(const auto& json, double& value) {
    if (json.is_string())
      value = json_number(json);
    else
      json.get_to(value);
  }
};

template <class Json, class Value>
Json write_fields(const Value& value) {
  if constexpr (detail::HasFields<Value>) {
    Json object = Json::object();
    fields(value, FieldWriter<Json>{object});
    return object;
  } else if constexpr (detail::ListOfFields<Value>) {
    Json list = Json::array();
    for (const auto& one : value)
      list.push_back(write_fields<Json>(one));
    return list;
  } else if constexpr (detail::OptionalValue<Value>) {
    return value ? write_fields<Json>(*value) : Json(nullptr);
  } else if constexpr (std::same_as<Value, double>) {
    return number_json<Json>(value);
  } else {
    return Json(value);
  }
}

template <class Values = PlainValues, class Json, class Value>
void read_fields(const Json& json, Value& value) {
  if constexpr (detail::HasFields<Value>) {
    fields(value, FieldReader<Values, Json>{json});
  } else if constexpr (detail::ListOfFields<Value>) {
    for (const Json& one : json)
      read_fields<Values>(one, value.emplace_back());
  } else if constexpr (detail::OptionalValue<Value>) {
    value.reset();
    if (!json.is_null()) read_fields<Values>(json, value.emplace());
  } else {
    Values::read(json, value);
  }
}

}  // namespace headrace::inline v1
