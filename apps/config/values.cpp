#include <headrace/apps/config/values.h>

#include <charconv>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace headrace::inline v1::app::detail {
namespace {

Scalar wrong(std::string must_be) {
  return {.must_be = std::move(must_be)};
}

bool is_plain(const Node& node) {
  return node.kind == Node::Kind::scalar && !node.quoted;
}

template <class Number>
std::errc parse_all(std::string_view text, Number& out) {
  if (text.starts_with('+')) text.remove_prefix(1);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return error;
  if (end != text.data() + text.size()) return std::errc::invalid_argument;
  out = value;
  return {};
}

template <class Integer>
Scalar read_integer(const Node& node, Integer& out) {
  if (!is_plain(node)) return wrong("a whole number");
  const std::errc error = parse_all(node.text, out);
  const bool negative = node.text.starts_with('-');
  if (error == std::errc::result_out_of_range ||
      (error != std::errc{} && negative && !std::is_signed_v<Integer>)) {
    return wrong(whole_number_between(static_cast<double>(std::numeric_limits<Integer>::min()),
                                      static_cast<double>(std::numeric_limits<Integer>::max())));
  }
  if (error != std::errc{}) return wrong("a whole number");
  return {.ok = true, .number = static_cast<double>(out)};
}

Node plain(std::string text) {
  return {.kind = Node::Kind::scalar, .text = std::move(text)};
}

template <class Real>
Node write_real(Real value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return plain(std::move(text));
}

}  // namespace

std::string whole_number(double value) {
  return fmt::format("{:.0f}", value);
}

std::string whole_number_between(double least, double most) {
  return "a whole number from " + whole_number(least) + " to " + whole_number(most);
}

Scalar read_scalar(const Node& node, bool& out) {
  if (is_plain(node) && (node.text == "true" || node.text == "false")) {
    out = node.text == "true";
    return {.ok = true};
  }
  return wrong("true or false");
}

Scalar read_scalar(const Node& node, std::int64_t& out) {
  return read_integer(node, out);
}
Scalar read_scalar(const Node& node, std::uint64_t& out) {
  return read_integer(node, out);
}

Scalar read_scalar(const Node& node, double& out) {
  double value = 0.0;
  if (!is_plain(node) || parse_all(node.text, value) != std::errc{} || !std::isfinite(value)) {
    return wrong("a number");
  }
  out = value;
  return {.ok = true, .number = value};
}

Scalar read_scalar(const Node& node, std::string& out) {
  if (node.kind != Node::Kind::scalar) return wrong("text");
  out = node.text;
  return {.ok = true};
}

Scalar read_scalar(const Node& node, std::filesystem::path& out) {
  if (node.kind != Node::Kind::scalar) return wrong("a path");
  out = node.text;
  return {.ok = true};
}

Scalar read_scalar(const Node& node, Bytes& out) {
  const auto bytes = node.kind == Node::Kind::scalar ? parse_bytes(node.text) : std::nullopt;
  if (!bytes) return wrong("a size such as 512MiB or 2GiB");
  out = *bytes;
  return {.ok = true, .number = static_cast<double>(bytes->value)};
}

Scalar read_scalar(const Node& node, Duration& out) {
  const auto duration = node.kind == Node::Kind::scalar ? parse_duration(node.text) : std::nullopt;
  if (!duration) return wrong("a duration such as 20ms, 30s or 10min");
  out = *duration;
  return {.ok = true, .number = duration->seconds};
}

Node write_scalar(bool value) {
  return plain(value ? "true" : "false");
}
Node write_scalar(std::int64_t value) {
  return plain(fmt::format("{}", value));
}
Node write_scalar(std::uint64_t value) {
  return plain(fmt::format("{}", value));
}
Node write_scalar(double value) {
  return write_real(value);
}
Node write_scalar(float value) {
  return write_real(value);
}
Node write_scalar(const std::string& value) {
  return {.kind = Node::Kind::scalar, .text = value, .quoted = true};
}
Node write_scalar(const std::filesystem::path& value) {
  return write_scalar(value.string());
}
Node write_scalar(Bytes value) {
  return plain(format_exact(value));
}
Node write_scalar(Duration value) {
  return plain(format_exact(value));
}

}  // namespace headrace::inline v1::app::detail
