#include <headrace/engine/base/error.h>
#include <headrace/engine/batch/internal/layout.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace headrace::inline v1::detail {

namespace {

constexpr std::size_t alignment = 64;

constexpr double largest_float16 = 65504.0;
constexpr double largest_bfloat16 = 0x1.fep127;
constexpr double largest_float32 = std::numeric_limits<float>::max();

/// Whether a dtype holds a value, if need be rounded as the floats are.
bool holds(DType dtype, double value) {
  // The bound above is one that a double has: the largest of 64 bits is none.
  const auto whole = [&](double lowest, double beyond) {
    return value >= lowest && value < beyond && value == std::trunc(value);
  };
  const auto up_to = [&](double largest) {
    return !std::isfinite(value) || std::abs(value) <= largest;
  };
  switch (dtype) {
    case DType::uint8:
      return whole(0, 0x1p8);
    case DType::int8:
      return whole(-0x1p7, 0x1p7);
    case DType::uint16:
      return whole(0, 0x1p16);
    case DType::int16:
      return whole(-0x1p15, 0x1p15);
    case DType::uint32:
      return whole(0, 0x1p32);
    case DType::int32:
      return whole(-0x1p31, 0x1p31);
    case DType::uint64:
      return whole(0, 0x1p64);
    case DType::int64:
      return whole(-0x1p63, 0x1p63);
    case DType::float16:
      return up_to(largest_float16);
    case DType::bfloat16:
      return up_to(largest_bfloat16);
    case DType::float32:
      return up_to(largest_float32);
    case DType::float64:
      return true;
    case DType::boolean:
      return whole(0, 2);
  }
  return false;
}

void require_fill(const FieldSpec& spec) {
  if (holds(spec.dtype, spec.fill)) return;
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), spec.fill).ptr;
  throw ConfigError("[batch] field \"" + spec.name + "\": fill must be a value that " +
                    std::string(name_of(spec.dtype)) + " can hold, got " +
                    std::string(digits.data(), end) + "; choose another fill or dtype");
}

template <class T>
void fill_as(std::byte* to, std::int64_t count, double value) {
  std::fill_n(reinterpret_cast<T*>(to), count, static_cast<T>(value));
}

std::uint16_t bfloat16_bits(double value) {
  const float f = static_cast<float>(value);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &f, sizeof bits);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

/// Rounded to nearest, ties to even. By hand, for clang 14 has no half precision on this processor.
std::uint16_t float16_bits(double value) {
  if (std::isnan(value)) return 0x7e00;
  const double scaled = value * 0x1p-1008;  // the exponent as a half counts it
  std::uint64_t bits = 0;
  std::memcpy(&bits, &scaled, sizeof bits);
  const std::uint64_t sign = bits >> 63 << 15;
  const std::uint64_t rounded =
      ((bits & ~(1ULL << 63)) + (1ULL << 41) - 1 + (bits >> 42 & 1U)) >> 42;
  return static_cast<std::uint16_t>(sign | std::min<std::uint64_t>(rounded, 0x7c00U));
}

void fill(std::byte* to, DType dtype, std::int64_t count, double value) {
  if (value == 0.0) {
    std::memset(to, 0, static_cast<std::size_t>(count) * size_of(dtype));
    return;
  }
  switch (dtype) {
    case DType::uint8:
      return fill_as<std::uint8_t>(to, count, value);
    case DType::int8:
      return fill_as<std::int8_t>(to, count, value);
    case DType::uint16:
      return fill_as<std::uint16_t>(to, count, value);
    case DType::int16:
      return fill_as<std::int16_t>(to, count, value);
    case DType::uint32:
      return fill_as<std::uint32_t>(to, count, value);
    case DType::int32:
      return fill_as<std::int32_t>(to, count, value);
    case DType::uint64:
      return fill_as<std::uint64_t>(to, count, value);
    case DType::int64:
      return fill_as<std::int64_t>(to, count, value);
    case DType::float16:
      return fill_as<std::uint16_t>(to, count, float16_bits(value));
    case DType::bfloat16:
      return fill_as<std::uint16_t>(to, count, bfloat16_bits(value));
    case DType::float32:
      return fill_as<float>(to, count, value);
    case DType::float64:
      return fill_as<double>(to, count, value);
    case DType::boolean:
      return fill_as<bool>(to, count, value);
  }
}

/// Copies a packed block into the corner of a larger packed block, axis by axis.
void copy_corner(std::byte* to, const Shape& largest, const std::byte* from, const Shape& shape,
                 std::size_t element) {
  const int rank = shape.rank();
  if (rank == 0) {
    std::memcpy(to, from, element);
    return;
  }
  const std::size_t run = static_cast<std::size_t>(shape[rank - 1]) * element;
  std::array<std::int64_t, Shape::max_rank> at{};
  const std::int64_t runs = run == 0 ? 0 : shape.elements() / shape[rank - 1];
  for (std::int64_t i = 0; i < runs; ++i) {
    std::int64_t target = 0;
    for (int axis = 0; axis < rank; ++axis)
      target = target * largest[axis] + at[static_cast<std::size_t>(axis)];
    std::memcpy(to + static_cast<std::size_t>(target) * element,
                from + static_cast<std::size_t>(i) * run, run);
    for (int axis = rank - 2; axis >= 0; --axis) {
      auto& place = at[static_cast<std::size_t>(axis)];
      if (++place < shape[axis]) break;
      place = 0;
    }
  }
}

std::string kind_of(const Tensor& tensor) {
  return std::string(name_of(tensor.dtype())) + " " + to_string(tensor.shape());
}

}  // namespace

Layout::Layout(const Schema& schema, std::int64_t rows, bool valid) : rows_(rows) {
  for (const FieldSpec& spec : schema) {
    require_fill(spec);
    if (!spec.host_only) add_field(spec);
  }
  if (valid) valid_ = static_cast<int>(add_column("valid", DType::boolean, Shape{}, rows));
  delivered_bytes_ = bytes_;
  for (const FieldSpec& spec : schema) {
    if (!spec.host_only) continue;
    if (spec.kind != FieldSpec::Kind::fixed) {
      throw ConfigError("[batch] field \"" + spec.name +
                        "\" stays on the host, so its rows must be of one shape, got " +
                        to_string(spec));
    }
    add_field(spec);
    columns_.back().host_only = true;
  }
}

void Layout::add_field(const FieldSpec& spec) {
  Field field{.spec = spec};
  field.values = add_column(spec.name, spec.dtype, spec.shape, rows_);
  field.extra = field.values;
  if (spec.kind == FieldSpec::Kind::padded) {
    field.extra = add_column(spec.name + "_shape", DType::int64, Shape{spec.shape.rank()}, rows_);
  } else if (spec.kind == FieldSpec::Kind::ragged) {
    field.extra = add_column(spec.name + "_offsets", DType::int64, Shape{}, rows_ + 1);
  }
  fields_.push_back(std::move(field));
}

std::size_t Layout::add_column(std::string name, DType dtype, const Shape& row, std::int64_t rows) {
  if (find(name) != nullptr) {
    throw ConfigError("[batch] two fields are called \"" + name + "\"; rename one of them");
  }
  Column column{.name = std::move(name), .dtype = dtype, .row = row, .offset = bytes_};
  column.row_bytes = static_cast<std::size_t>(row.elements()) * size_of(dtype);
  std::size_t end = 0;
  if (__builtin_mul_overflow(column.row_bytes, static_cast<std::size_t>(rows), &end) ||
      __builtin_add_overflow(bytes_, end, &end) || end > std::size_t{1} << 47) {
    throw ConfigError("[batch] " + std::to_string(rows) + " rows of field \"" + column.name +
                      "\" " + to_string(row) + " do not fit into memory; lower the batch size");
  }
  bytes_ = (end + alignment - 1) / alignment * alignment;
  columns_.push_back(std::move(column));
  return columns_.size() - 1;
}

const Layout::Column* Layout::find(std::string_view name) const noexcept {
  const auto it = std::find_if(columns_.begin(), columns_.end(),
                               [&](const Column& c) { return c.name == name; });
  return it == columns_.end() ? nullptr : &*it;
}

const Layout::Column* Layout::find_delivered(std::string_view name) const noexcept {
  const Column* column = find(name);
  return column == nullptr || column->host_only ? nullptr : column;
}

void Layout::set_valid(std::byte* slab, std::int64_t row, bool valid) const noexcept {
  if (valid_ >= 0)
    *cell(slab, static_cast<std::size_t>(valid_), row) = static_cast<std::byte>(valid ? 1 : 0);
}

std::vector<std::int64_t> Layout::absent_rows(const std::byte* slab, std::int64_t rows) const {
  std::vector<std::int64_t> absent;
  if (valid_ < 0) return absent;
  const std::byte* begin = slab + columns_[static_cast<std::size_t>(valid_)].offset;
  const std::byte* end = begin + rows;
  const std::byte* row = begin;
  while ((row = std::find(row, end, std::byte{0})) != end)
    absent.push_back(row++ - begin);
  return absent;
}

void Layout::clear_row(std::byte* slab, std::int64_t row) const {
  for (const Field& field : fields_) {
    const Column& values = columns_[field.values];
    fill(cell(slab, field.values, row), values.dtype, values.row.elements(), field.spec.fill);
    if (field.extra != field.values)
      std::memset(cell(slab, field.extra, row), 0, columns_[field.extra].row_bytes);
  }
}

std::string Layout::store(std::byte* slab, std::size_t index, std::int64_t row,
                          const Tensor& tensor) const {
  const Field& field = fields_[index];
  const FieldSpec& spec = field.spec;
  std::byte* to = cell(slab, field.values, row);
  const auto wrong = [&](const char* rule) {
    return "field \"" + spec.name + "\" must be " + rule + std::string(name_of(spec.dtype)) + " " +
           to_string(spec.shape) + " like the batch, got " + kind_of(tensor) +
           "; add a step that makes it fit, or declare the field so";
  };
  if (!tensor.defined())
    return "field \"" + spec.name + "\" must hold a tensor, got an undefined one";
  if (spec.kind == FieldSpec::Kind::fixed) {
    if (tensor.dtype() != spec.dtype || tensor.shape() != spec.shape) return wrong("");
    if (tensor.raw() != to) std::memcpy(to, tensor.raw(), tensor.bytes());
    return {};
  }
  bool fits = tensor.dtype() == spec.dtype && tensor.shape().rank() == spec.shape.rank();
  for (int axis = 0; fits && axis < spec.shape.rank(); ++axis)
    fits = tensor.shape()[axis] <= spec.shape[axis];
  if (!fits) return wrong("at most ");
  if (spec.kind == FieldSpec::Kind::ragged) {
    if (tensor.bytes() != 0 && tensor.raw() != to) std::memcpy(to, tensor.raw(), tensor.bytes());
    const std::int64_t length = tensor.elements();
    std::memcpy(cell(slab, field.extra, row), &length, sizeof length);
    return {};
  }
  if (tensor.raw() != to) {
    fill(to, spec.dtype, spec.shape.elements(), spec.fill);
    copy_corner(to, spec.shape, static_cast<const std::byte*>(tensor.raw()), tensor.shape(),
                size_of(spec.dtype));
  }
  std::memcpy(cell(slab, field.extra, row), tensor.shape().extents().data(),
              columns_[field.extra].row_bytes);
  return {};
}

void Layout::pack_ragged(std::byte* slab, std::int64_t rows) const {
  for (const Field& field : fields_) {
    if (field.spec.kind != FieldSpec::Kind::ragged) continue;
    const Column& values = columns_[field.values];
    const std::size_t element = size_of(values.dtype);
    std::byte* const begin = slab + values.offset;
    std::byte* end = begin;
    auto* offsets = reinterpret_cast<std::int64_t*>(slab + columns_[field.extra].offset);
    std::int64_t total = 0;
    for (std::int64_t row = 0; row < rows_; ++row) {
      const std::int64_t length = row < rows ? offsets[row] : 0;
      const std::size_t bytes = static_cast<std::size_t>(length) * element;
      std::memmove(end, cell(slab, field.values, row), bytes);
      offsets[row] = total;
      total += length;
      end += bytes;
    }
    offsets[rows_] = total;
    std::memset(
        end, 0,
        values.row_bytes * static_cast<std::size_t>(rows_) - static_cast<std::size_t>(end - begin));
  }
}

}  // namespace headrace::inline v1::detail
