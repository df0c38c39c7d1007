#pragma once

#include <headrace/apps/config/document.h>
#include <headrace/apps/config/units.h>
#include <headrace/engine/base/export.h>

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace headrace::inline v1::app::detail {

/// What a scalar's text came to: its value as a number for range checks, or why it is not of the
/// type.
struct Scalar {
  bool ok = false;
  std::string must_be{};  ///< "a number"
  double number = 0.0;    ///< 0 for text and truth values
};

HEADRACE_API Scalar read_scalar(const Node& node, bool& out);
HEADRACE_API Scalar read_scalar(const Node& node, std::int64_t& out);
HEADRACE_API Scalar read_scalar(const Node& node, std::uint64_t& out);
HEADRACE_API Scalar read_scalar(const Node& node, double& out);
HEADRACE_API Scalar read_scalar(const Node& node, std::string& out);
HEADRACE_API Scalar read_scalar(const Node& node, std::filesystem::path& out);
HEADRACE_API Scalar read_scalar(const Node& node, Bytes& out);
HEADRACE_API Scalar read_scalar(const Node& node, Duration& out);

HEADRACE_API Node write_scalar(bool value);
HEADRACE_API Node write_scalar(std::int64_t value);
HEADRACE_API Node write_scalar(std::uint64_t value);
HEADRACE_API Node write_scalar(double value);
HEADRACE_API Node write_scalar(const std::string& value);
HEADRACE_API Node write_scalar(const std::filesystem::path& value);
HEADRACE_API Node write_scalar(Bytes value);
HEADRACE_API Node write_scalar(Duration value);

/// A whole number's digits: "10000000".
HEADRACE_API std::string whole_number(double value);

/// The text of a limit in a message, in the type's own form: "2GiB".
template <class T>
std::string show_limit(double limit) {
  if constexpr (std::is_same_v<T, Bytes>)
    return format_exact(Bytes{static_cast<std::uint64_t>(limit)});
  if constexpr (std::is_same_v<T, Duration>) return format_exact(Duration{limit});
  if constexpr (std::integral<T>) return whole_number(limit);
  return write_scalar(limit).text;
}

HEADRACE_API std::string whole_number_between(double least, double most);

// Narrower integers and float are read through the widest of their kind.
template <class T>
requires(std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, std::int64_t> &&
         !std::same_as<T, std::uint64_t>) Scalar read_scalar(const Node& node, T& out) {
  std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t> wide = 0;
  Scalar read = read_scalar(node, wide);
  if (!read.ok) return read;
  if (!std::in_range<T>(wide)) {
    read.ok = false;
    read.must_be = whole_number_between(static_cast<double>(std::numeric_limits<T>::min()),
                                        static_cast<double>(std::numeric_limits<T>::max()));
    return read;
  }
  out = static_cast<T>(wide);
  return read;
}

inline Scalar read_scalar(const Node& node, float& out) {
  double wide = 0.0;
  const Scalar read = read_scalar(node, wide);
  if (read.ok) out = static_cast<float>(wide);
  return read;
}

template <class T>
requires(std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, std::int64_t> &&
         !std::same_as<T, std::uint64_t>) Node write_scalar(T value) {
  return write_scalar(
      static_cast<std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>(value));
}

HEADRACE_API Node write_scalar(float value);

}  // namespace headrace::inline v1::app::detail
