#pragma once

#include <headrace/engine/tensor/dtype.h>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include <H5Cpp.h>

namespace headrace::inline v1::detail {

/// An identifier of the library, released with the object. On the HDF5 thread only.
class Hid {
 public:
  explicit Hid(hid_t id) noexcept : id_(id) {}
  Hid(Hid&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  Hid& operator=(Hid&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Hid() {
    if (id_ >= 0) H5Idec_ref(id_);
  }
  hid_t get() const noexcept { return id_; }
  bool valid() const noexcept { return id_ >= 0; }

 private:
  hid_t id_;
};

/// The elements of values of variable length.
struct RaggedElement {
  DType dtype = DType::uint8;
  bool swap = false;  ///< stored in the other byte order
};

/// What an HDF5 datatype is for us.
struct Hdf5Element {
  DType dtype = DType::uint8;
  bool swap = false;                   ///< stored in the other byte order
  std::vector<std::size_t> extents{};  ///< of array types and fixed strings: further axes of a row
  /// Of variable length: what its values hold; the rest is the type of a HeapReference.
  std::optional<RaggedElement> ragged{};
  bool text = false;  ///< strings, of which the last of the extents counts bytes
};

/// Fixed-size integers, IEEE floats of 16, 32 and 64 bits, bfloat16, enumerations (FALSE/TRUE is
/// boolean), arrays of them, fixed strings as uint8; sequences of numbers and strings of variable
/// length as references into the file's heap. Throws DataError naming the class of any other type.
Hdf5Element element_of(hid_t type);

/// The little-endian datatype that is written for a dtype.
Hid file_type(DType dtype);

/// Brings `count` elements as stored in the file to what the dtype promises: byte order of the
/// machine, booleans 0 or 1.
void normalise(void* data, std::size_t count, DType dtype, bool swap) noexcept;

}  // namespace headrace::inline v1::detail
