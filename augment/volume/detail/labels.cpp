#include <headrace/augment/volume/detail/labels.h>

#include <algorithm>
#include <array>

namespace headrace::inline v1::detail {
namespace {

bool is_label(DType dtype, const Shape& shape) {
  const bool whole = dtype == DType::uint8 || dtype == DType::int16 || dtype == DType::int32 ||
                     dtype == DType::int64;
  return whole && (shape.rank() == 3 || (shape.rank() == 4 && shape[0] == 1));
}

constexpr const char* label_rule =
    "\" must be uint8, int16, int32 or int64 [z, y, x] or [1, z, y, x], got ";

/// Which labels are meant; of 0 to 255 a table says so.
class LabelChoice {
 public:
  LabelChoice(const std::vector<std::int64_t>& labels, std::int64_t ignore)
      : labels_(labels), ignore_(ignore) {
    for (std::int64_t v = 0; v < 256; ++v)
      meant_[static_cast<std::size_t>(v)] = (v != 0 || !labels.empty()) && is_other_meant(v);
  }

  void mark(const std::uint8_t* from, std::int64_t count, std::uint8_t* to) const {
    for (std::int64_t i = 0; i < count; ++i)
      to[i] = meant_[from[i]];
  }
  template <class Label>
  void mark(const Label* from, std::int64_t count, std::uint8_t* to) const {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<std::int64_t>(from[i]);
      to[i] = value >= 0 && value < 256 ? meant_[static_cast<std::size_t>(value)]
                                        : static_cast<std::uint8_t>(is_other_meant(value));
    }
  }

 private:
  bool is_other_meant(std::int64_t value) const {
    return labels_.empty() ? value != ignore_ : std::ranges::find(labels_, value) != labels_.end();
  }

  const std::vector<std::int64_t>& labels_;
  std::int64_t ignore_;
  std::array<std::uint8_t, 256> meant_{};
};

}  // namespace

const FieldSpec& label_field(const Schema& in, std::string_view field, const std::string& who) {
  const FieldSpec& label = in.at(field, who);
  if (label.kind != FieldSpec::Kind::ragged && is_label(label.dtype, label.shape)) return label;
  throw ConfigError("[" + who + "] field \"" + std::string(field) + label_rule + to_string(label));
}

LabelGrid label_grid(const Shape& shape) {
  const int first = shape.rank() - 3;
  return {shape[first], shape[first + 1], shape[first + 2]};
}

GridExtent label_extent(const Shape& shape) {
  const LabelGrid grid = label_grid(shape);
  return {grid.depth, grid.height, grid.width};
}

Shape with_grid(const Shape& shape, const LabelGrid& grid) {
  if (shape.rank() == 3) return Shape{grid.depth, grid.height, grid.width};
  return Shape{1, grid.depth, grid.height, grid.width};
}

Schema with_target(const Schema& in, const FieldSpec& label, const std::string& to, DType dtype) {
  Schema out = in;
  FieldSpec target = label;
  target.name = to;
  target.dtype = dtype;
  target.fill = 0;
  out.put(target);
  return out;
}

Tensor label_of(const Sample& sample, const std::string& field) {
  const Tensor& tensor = sample[field];
  if (is_label(tensor.dtype(), tensor.shape())) return tensor;
  throw DataError("field \"" + field + label_rule + std::string(name_of(tensor.dtype())) + " " +
                  to_string(tensor.shape()));
}

void mark_labels(const Tensor& tensor, const std::vector<std::int64_t>& labels, std::int64_t ignore,
                 std::uint8_t* to) {
  const LabelChoice choice(labels, ignore);
  with_labels(tensor, [&](const auto* from) { choice.mark(from, tensor.elements(), to); });
}

void mark_labels_in(const GridBox& box, const Tensor& tensor,
                    const std::vector<std::int64_t>& labels, std::int64_t ignore,
                    std::uint8_t* to) {
  const LabelGrid grid = label_grid(tensor.shape());
  const LabelChoice choice(labels, ignore);
  const std::int64_t width = box.end[2] - box.begin[2];
  with_labels(tensor, [&](const auto* from) {
    for (std::int64_t z = box.begin[0]; z < box.end[0]; ++z) {
      for (std::int64_t y = box.begin[1]; y < box.end[1]; ++y, to += width)
        choice.mark(from + z * grid.plane() + y * grid.width + box.begin[2], width, to);
    }
  });
}

}  // namespace headrace::inline v1::detail
