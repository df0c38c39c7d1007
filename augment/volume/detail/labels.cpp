#include <headrace/augment/volume/detail/labels.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace headrace::inline v1::detail {
namespace {

bool is_label(DType dtype, const Shape& shape) {
  const bool whole = dtype == DType::uint8 || dtype == DType::int16 || dtype == DType::int32 ||
                     dtype == DType::int64;
  return whole && (shape.rank() == 3 || (shape.rank() == 4 && shape[0] == 1));
}

constexpr const char* rule =
    "\" must be uint8, int16, int32 or int64 [z, y, x] or [1, z, y, x], got ";

/// Whether each of the labels 0 to 255 is meant.
std::array<std::uint8_t, 256> table_of(const std::vector<std::int64_t>& labels,
                                       std::int64_t ignore) {
  std::array<std::uint8_t, 256> meant{};
  for (std::int64_t v = 0; v < 256; ++v) {
    const bool listed = std::ranges::find(labels, v) != labels.end();
    meant[static_cast<std::size_t>(v)] = labels.empty() ? v != 0 && v != ignore : listed;
  }
  return meant;
}

}  // namespace

const FieldSpec& label_field(const Schema& in, std::string_view field, const std::string& who) {
  const FieldSpec& label = in.at(field, who);
  if (label.kind != FieldSpec::Kind::ragged && is_label(label.dtype, label.shape)) return label;
  throw ConfigError("[" + who + "] field \"" + std::string(field) + rule + to_string(label));
}

LabelGrid label_grid(const Shape& shape) {
  const int first = shape.rank() - 3;
  return {shape[first], shape[first + 1], shape[first + 2]};
}

Shape with_grid(const Shape& shape, const LabelGrid& grid) {
  if (shape.rank() == 3) return Shape{grid.depth, grid.height, grid.width};
  return Shape{1, grid.depth, grid.height, grid.width};
}

Tensor label_of(const Sample& sample, const std::string& field) {
  const Tensor& tensor = sample[field];
  if (is_label(tensor.dtype(), tensor.shape())) return tensor;
  throw DataError("field \"" + field + rule + std::string(name_of(tensor.dtype())) + " " +
                  to_string(tensor.shape()));
}

std::string exact_text(double value) {
  char text[40];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  return {text, end};
}

std::string choice_text(const std::vector<std::int64_t>& labels, std::int64_t ignore) {
  std::string text = labels.empty() ? "but " + std::to_string(ignore) : "of";
  for (std::int64_t label : labels)
    text += " " + std::to_string(label);
  return text;
}

void mark_labels(const Tensor& tensor, const std::vector<std::int64_t>& labels, std::int64_t ignore,
                 std::uint8_t* to) {
  const auto table = table_of(labels, ignore);
  const std::int64_t count = tensor.elements();
  if (tensor.dtype() == DType::uint8) {
    const auto* from = tensor.data<std::uint8_t>();
    for (std::int64_t i = 0; i < count; ++i)
      to[i] = table[from[i]];
    return;
  }
  with_labels(tensor, [&](const auto* from) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<std::int64_t>(from[i]);
      const bool other =
          labels.empty() ? value != ignore : std::ranges::find(labels, value) != labels.end();
      to[i] = value >= 0 && value < 256 ? table[static_cast<std::size_t>(value)] : other;
    }
  });
}

}  // namespace headrace::inline v1::detail
