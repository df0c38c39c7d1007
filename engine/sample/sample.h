#pragma once

#include <headrace/engine/base/error.h>
#include <headrace/engine/base/export.h>
#include <headrace/engine/tensor/field.h>
#include <headrace/engine/tensor/tensor.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1 {

/// Named tensors and where they came from. The engine hands one to every source and operation; its
/// memory is pooled, so a warm pipeline allocates nothing. Used by one thread at a time.
class HEADRACE_API Sample {
 public:
  Sample();
  ~Sample();
  Sample(Sample&&) noexcept;
  Sample& operator=(Sample&&) noexcept;

  /// Whether there is a field of that name.
  bool has(std::string_view name) const noexcept;
  /// The field's tensor (a handle; valid memory until the field is made or set twice more). Throws
  /// DataError naming the fields that exist.
  const Tensor& operator[](std::string_view name) const;

  /// Memory for a field that is about to be written, contents undefined. It is the row of the slab
  /// itself when shape and dtype are those of the batch field and the row does not hold the field's
  /// present value; pooled memory otherwise. The field's present tensor stays readable through a
  /// handle taken before.
  Tensor& make(std::string_view name, DType dtype, const Shape& shape);
  /// The field's tensor, to be changed in place: where its memory is this sample's own it stays
  /// where it is, and handles taken before see the change; what is borrowed or shared is copied
  /// first, as make() places it. Throws DataError as operator[] does.
  Tensor& edit(std::string_view name);
  /// Adopts a tensor (borrowed or owned) as the field's value. What lies in memory of another field
  /// of this sample is copied, as make() places it: no field changes because another one is made,
  /// set or removed.
  void set(std::string_view name, Tensor tensor);
  /// make() of a scalar and its value.
  template <class T>
  void set_scalar(std::string_view name, T value) {
    *make(name, dtype_of<T>, Shape{}).template data<T>() = value;
  }
  /// Takes a field away; nothing where there is none. Its memory stays with the sample.
  void remove(std::string_view name) noexcept;
  /// Names of the fields, in the order in which they came.
  std::vector<std::string> names() const;

  /// Which record this is, and its place in the epoch; the engine fills it in before read().
  const Origin& origin() const noexcept { return origin_; }
  Origin& origin() noexcept { return origin_; }

  /// Bytes of pooled memory that this sample holds at the moment.
  std::size_t pooled_bytes() const noexcept;

  /// For the engine: forgets the fields, keeps the pooled memory.
  void reset() noexcept;
  /// For the engine: the slab row that `name` will end in.
  void bind_row(std::string_view name, Tensor row);

 private:
  struct Field;
  Field* find(std::string_view name) const noexcept;
  Field& find_or_add(std::string_view name);

  std::vector<std::unique_ptr<Field>> fields_;
  Origin origin_;
};

}  // namespace headrace::inline v1
