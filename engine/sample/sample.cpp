#include <headrace/engine/base/internal/own_heap.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/internal/aligned_memory.h>
#include <headrace/engine/tensor/internal/byte_count.h>
#include <headrace/engine/tensor/internal/within.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace headrace::inline v1 {

namespace {

using detail::within;

/// Pooled memory of a field; grows to the largest value seen.
struct Scratch {
  detail::AlignedMemory memory;
  std::size_t bytes = 0;

  std::byte* at_least(std::size_t wanted) {
    if (wanted > bytes || memory == nullptr) {
      const detail::OwnHeap pooled;
      memory.reset();
      bytes = 0;
      memory = detail::allocate_aligned(wanted);
      bytes = detail::aligned_size(wanted);
    }
    return memory.get();
  }
  bool has(const void* address) const noexcept { return within(address, memory.get(), bytes); }
};

bool same_spec(const Tensor& row, DType dtype, const Shape& shape) noexcept {
  return row.raw() != nullptr && row.dtype() == dtype && row.shape() == shape;
}

}  // namespace

struct Sample::Field {
  std::string name;
  Tensor value;
  Tensor row;
  std::array<Scratch, 2> scratch;
  const void* held =
      nullptr;  ///< address of the last value: that memory is not the next to be written
  bool present = false;

  /// The scratch that does not hold the last value.
  Scratch& free_scratch() noexcept { return scratch[0].has(held) ? scratch[1] : scratch[0]; }
  /// Whether making this field writes there, now or later.
  bool owns(const void* address) const noexcept {
    return within(address, row) || scratch[0].has(address) || scratch[1].has(address);
  }
  void adopt(Tensor tensor) noexcept {
    value = std::move(tensor);
    held = value.raw();
    present = true;
  }
  void reset() noexcept {
    value = Tensor();
    row = Tensor();
    held = nullptr;
    present = false;
  }
};

Sample::Sample() = default;
Sample::~Sample() = default;
Sample::Sample(Sample&&) noexcept = default;
Sample& Sample::operator=(Sample&&) noexcept = default;

Sample::Field* Sample::find(std::string_view name) const noexcept {
  for (const auto& field : fields_) {
    if (field->name == name) return field.get();
  }
  return nullptr;
}

Sample::Field& Sample::find_or_add(std::string_view name) {
  if (Field* field = find(name)) return *field;
  const detail::OwnHeap pooled;
  fields_.push_back(std::make_unique<Field>());
  fields_.back()->name = name;
  return *fields_.back();
}

bool Sample::has(std::string_view name) const noexcept {
  const Field* field = find(name);
  return field != nullptr && field->present;
}

const Tensor& Sample::operator[](std::string_view name) const {
  const Field* field = find(name);
  if (field != nullptr && field->present) return field->value;
  std::string have;
  for (const std::string& other : names())
    have += (have.empty() ? "" : ", ") + other;
  throw DataError("[sample] field \"" + std::string(name) + "\" is needed, this sample has" +
                  (have.empty() ? " none" : ": " + have));
}

Tensor& Sample::make(std::string_view name, DType dtype, const Shape& shape) {
  Field& field = find_or_add(name);
  if (same_spec(field.row, dtype, shape) && !within(field.held, field.row)) {
    field.adopt(field.row);
  } else {
    const std::size_t bytes = detail::byte_count(dtype, shape);
    field.adopt(Tensor::borrow(field.free_scratch().at_least(bytes), dtype, shape));
  }
  return field.value;
}

Tensor& Sample::edit(std::string_view name) {
  const Tensor present = (*this)[name];
  Field& field = *find(name);
  if (field.owns(present.raw())) return field.value;
  Tensor& own = make(name, present.dtype(), present.shape());
  if (present.bytes() > 0) std::memcpy(own.raw(), present.raw(), present.bytes());
  return own;
}

void Sample::set(std::string_view name, Tensor tensor) {
  Field& field = find_or_add(name);
  const bool foreign = std::ranges::any_of(fields_, [&](const auto& other) {
    return other.get() != &field && other->owns(tensor.raw());
  });
  if (!foreign) return field.adopt(std::move(tensor));
  const Tensor& own = make(name, tensor.dtype(), tensor.shape());
  std::memcpy(own.raw(), tensor.raw(), tensor.bytes());
}

void Sample::remove(std::string_view name) noexcept {
  if (Field* field = find(name)) {
    field->value = Tensor();
    field->present = false;
  }
}

std::vector<std::string> Sample::names() const {
  std::vector<std::string> result;
  for (const auto& field : fields_) {
    if (field->present) result.push_back(field->name);
  }
  return result;
}

std::size_t Sample::pooled_bytes() const noexcept {
  std::size_t total = 0;
  for (const auto& field : fields_) {
    for (const Scratch& scratch : field->scratch)
      total += scratch.bytes;
  }
  return total;
}

void Sample::reset() noexcept {
  for (const auto& field : fields_)
    field->reset();
}

void Sample::bind_row(std::string_view name, Tensor row) {
  find_or_add(name).row = std::move(row);
}

}  // namespace headrace::inline v1
