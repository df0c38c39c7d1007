#include <headrace/engine/base/bounded_wait.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/tensor/huge_pages.h>
#include <headrace/loaders/internal/require_index.h>
#include <headrace/loaders/synthetic/synthetic.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

namespace headrace::inline v1 {
namespace {

/// Finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a bijection of 64 bits that mixes
/// well.
constexpr std::uint64_t mixed(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15ULL;

std::uint64_t key_of(std::uint64_t seed, std::int64_t index, std::string_view field) noexcept {
  return mixed(mixed(mixed(seed + golden) + static_cast<std::uint64_t>(index)) ^ hash_name(field));
}

template <class T, class Value>
void fill_with(void* to, std::size_t elements, std::uint64_t key, Value value) noexcept {
  auto* bytes = static_cast<std::byte*>(to);
  for (std::size_t i = 0; i < elements; ++i, bytes += sizeof(T)) {
    const T element = value(mixed(key + (i + 1) * golden));
    std::memcpy(bytes, &element, sizeof(T));
  }
}

void fill_bytes(void* to, std::size_t bytes, std::uint64_t key) noexcept {
  auto* at = static_cast<std::byte*>(to);
  for (std::uint64_t word = 1; bytes > 0; ++word) {
    const std::uint64_t value = mixed(key + word * golden);
    const std::size_t part = std::min(bytes, sizeof(value));
    std::memcpy(at, &value, part);
    at += part;
    bytes -= part;
  }
}

void fill_label(void* to, DType dtype, std::uint64_t key) noexcept {
  const std::uint64_t label = mixed(key) % 10;
  std::memcpy(to, &label, size_of(dtype));
}

}  // namespace

SyntheticSource::SyntheticSource(SyntheticOptions options) : options_(std::move(options)) {
  const auto refuse = [](const std::string& rule) { throw ConfigError("[synthetic] " + rule); };
  if (options_.rows < 0) refuse("rows must be 0 or more, got " + std::to_string(options_.rows));
  if (options_.fields.size() == 0) refuse("needs at least one field, got none");
  if (options_.slow_every < 1) {
    refuse("slow_every must be 1 or more, got " + std::to_string(options_.slow_every));
  }
  std::sort(options_.failing.begin(), options_.failing.end());
  const bool fixed =
      std::all_of(options_.fields.begin(), options_.fields.end(),
                  [](const FieldSpec& field) { return field.kind == FieldSpec::Kind::fixed; });
  gathers_ = options_.gathers && fixed;
}

void SyntheticSource::read(std::int64_t index, Sample& sample) const {
  pass(index);
  for (const FieldSpec& field : options_.fields) {
    Tensor& tensor = sample.make(field.name, field.dtype, shape_of(index, field));
    fill(index, field, tensor.raw(), static_cast<std::size_t>(tensor.elements()));
  }
}

void SyntheticSource::gather(std::span<const std::int64_t> indices, const Rows& rows) const {
  for (std::size_t k = 0; k < indices.size(); ++k) {
    pass(indices[k]);
    for (std::size_t i = 0; i < options_.fields.size(); ++i) {
      const FieldSpec& field = options_.fields[i];
      fill(indices[k], field, rows.row(i, static_cast<std::int64_t>(k)),
           static_cast<std::size_t>(field.shape.elements()));
    }
  }
}

std::string SyntheticSource::origin(std::int64_t index) const {
  return "synthetic[" + std::to_string(index) + "]";
}

Tensor SyntheticSource::expected(std::int64_t index, std::string_view name) const {
  detail::require_index(index, options_.rows);
  const FieldSpec& field = options_.fields.at(name, "synthetic");
  Tensor tensor = Tensor::empty(field.dtype, shape_of(index, field));
  fill(index, field, tensor.raw(), static_cast<std::size_t>(tensor.elements()));
  return tensor;
}

Table SyntheticSource::table() const {
  std::vector<TableColumn> columns;
  for (const FieldSpec& field : options_.fields) {
    if (field.kind != FieldSpec::Kind::fixed) {
      throw ConfigError("[synthetic] field " + to_string(field) +
                        " has rows of several sizes and makes no table; use fixed fields");
    }
    Tensor rows = huge_zeros(field.dtype, field.shape.batched(options_.rows));
    const auto elements = static_cast<std::size_t>(field.shape.elements());
    auto* to = static_cast<std::byte*>(rows.raw());
    for (std::int64_t i = 0; i < options_.rows; ++i, to += elements * size_of(field.dtype)) {
      fill(i, field, to, elements);
    }
    columns.push_back({field.name, std::move(rows)});
  }
  return Table(std::move(columns), "synthetic");
}

void SyntheticSource::pass(std::int64_t index) const {
  detail::require_index(index, options_.rows);
  if (std::binary_search(options_.failing.begin(), options_.failing.end(), index)) {
    throw DataError("record " + std::to_string(index) + " was planted to fail");
  }
  if (options_.delay.count() <= 0 || index % options_.slow_every != 0) return;
  if (options_.kind == Delay::sleep) {
    std::this_thread::sleep_for(options_.delay);
    return;
  }
  const auto end = std::chrono::steady_clock::now() + bounded_wait(options_.delay);
  while (std::chrono::steady_clock::now() < end) {
  }
}

Shape SyntheticSource::shape_of(std::int64_t index, const FieldSpec& field) const {
  Shape shape = field.shape;
  if (field.kind == FieldSpec::Kind::fixed) return shape;
  const std::uint64_t key = ~key_of(options_.seed, index, field.name);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto largest = static_cast<std::uint64_t>(std::max<std::int64_t>(shape[axis], 1));
    const std::uint64_t drawn = mixed(key + static_cast<std::uint64_t>(axis) * golden) % largest;
    shape.set(axis, static_cast<std::int64_t>(drawn) + 1);
  }
  return shape;
}

void SyntheticSource::fill(std::int64_t index, const FieldSpec& field, void* to,
                           std::size_t elements) const {
  const std::uint64_t key = key_of(options_.seed, index, field.name);
  switch (field.dtype) {
    case DType::float16:  // exponents that keep the value finite and below 1
      return fill_with<std::uint16_t>(to, elements, key, [](std::uint64_t x) {
        return static_cast<std::uint16_t>(x & 0x3bff);
      });
    case DType::bfloat16:
      return fill_with<std::uint16_t>(to, elements, key, [](std::uint64_t x) {
        return static_cast<std::uint16_t>(x & 0x3f7f);
      });
    case DType::float32:
      return fill_with<float>(to, elements, key, [](std::uint64_t x) {
        return static_cast<float>(x >> 40) * 0x1p-24F;
      });
    case DType::float64:
      return fill_with<double>(to, elements, key, [](std::uint64_t x) {
        return static_cast<double>(x >> 11) * 0x1p-53;
      });
    case DType::boolean:
      return fill_with<std::uint8_t>(
          to, elements, key, [](std::uint64_t x) { return static_cast<std::uint8_t>(x & 1); });
    default:
      break;
  }
  if (elements == 1 && field.name == "label" && is_integer(field.dtype)) {
    return fill_label(to, field.dtype, key);
  }
  fill_bytes(to, elements * size_of(field.dtype), key);
}

}  // namespace headrace::inline v1
