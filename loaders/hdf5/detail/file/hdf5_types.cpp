#include <headrace/engine/base/error.h>
#include <headrace/engine/tensor/shape.h>
#include <headrace/loaders/hdf5/detail/file/global_heap.h>
#include <headrace/loaders/hdf5/detail/file/hdf5_types.h>
#include <headrace/loaders/internal/byte_order.h>

#include <array>
#include <cstdint>

namespace headrace::inline v1::detail {
namespace {

/// Where sign, exponent and mantissa of a floating-point type lie.
struct FloatLayout {
  std::size_t size, sign, exponent, exponent_bits, mantissa_bits, bias;
  DType dtype;
};

constexpr std::array<FloatLayout, 4> float_layouts{{{2, 15, 10, 5, 10, 15, DType::float16},
                                                    {2, 15, 7, 8, 7, 127, DType::bfloat16},
                                                    {4, 31, 23, 8, 23, 127, DType::float32},
                                                    {8, 63, 52, 11, 52, 1023, DType::float64}}};

[[noreturn]] void refuse(const std::string& what) {
  throw DataError("datatype is " + what +
                  "; integers, IEEE floats, enumerations, arrays and sequences of them and strings "
                  "can be read, convert the dataset to one of these");
}

bool whole(hid_t type) {
  return H5Tget_offset(type) == 0 && H5Tget_precision(type) == 8 * H5Tget_size(type);
}

bool swapped(hid_t type) {
  const H5T_order_t order = H5Tget_order(type);
  if (order == H5T_ORDER_LE || order == H5T_ORDER_NONE) return false;
  if (order != H5T_ORDER_BE) refuse("in a byte order that is neither little nor big endian");
  return H5Tget_size(type) > 1;
}

DType integer_dtype(hid_t type) {
  if (!whole(type)) refuse("an integer with unused bits");
  const bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
  switch (H5Tget_size(type)) {
    case 1:
      return is_signed ? DType::int8 : DType::uint8;
    case 2:
      return is_signed ? DType::int16 : DType::uint16;
    case 4:
      return is_signed ? DType::int32 : DType::uint32;
    case 8:
      return is_signed ? DType::int64 : DType::uint64;
    default:
      refuse("an integer of " + std::to_string(H5Tget_size(type)) + " bytes");
  }
}

DType float_dtype(hid_t type) {
  std::size_t sign = 0, exponent = 0, exponent_bits = 0, mantissa = 0, mantissa_bits = 0;
  H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits);
  const bool usual = whole(type) && mantissa == 0 && H5Tget_norm(type) == H5T_NORM_IMPLIED;
  for (const FloatLayout& layout : float_layouts) {
    if (usual && H5Tget_size(type) == layout.size && sign == layout.sign &&
        exponent == layout.exponent && exponent_bits == layout.exponent_bits &&
        mantissa_bits == layout.mantissa_bits && H5Tget_ebias(type) == layout.bias) {
      return layout.dtype;
    }
  }
  refuse("a floating-point type of unusual layout");
}

bool is_boolean(hid_t type) {
  if (H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2) return false;
  for (const auto& [name, value] : {std::pair{"FALSE", 0}, std::pair{"TRUE", 1}}) {
    signed char stored = -1;
    if (H5Tenum_valueof(type, name, &stored) < 0 || stored != value) return false;
  }
  return true;
}

Hdf5Element enumeration(hid_t type) {
  if (is_boolean(type)) return {.dtype = DType::boolean};
  const Hid base(H5Tget_super(type));
  return element_of(base.get());
}

Hdf5Element array(hid_t type) {
  const int rank = H5Tget_array_ndims(type);
  if (rank < 1 || rank > Shape::max_rank) refuse("an array of rank " + std::to_string(rank));
  std::array<hsize_t, Shape::max_rank> extents{};
  H5Tget_array_dims2(type, extents.data());
  const Hid base(H5Tget_super(type));
  Hdf5Element element = element_of(base.get());
  if (element.ragged) refuse("an array of values of variable length");
  element.extents.insert(element.extents.begin(), extents.begin(), extents.begin() + rank);
  return element;
}

Hdf5Element heap_reference(RaggedElement ragged) {
  return {.extents = {HeapReference::stored_bytes}, .ragged = ragged};
}

Hdf5Element sequence(hid_t type) {
  const Hid base(H5Tget_super(type));
  const Hdf5Element element = element_of(base.get());
  if (!element.extents.empty()) refuse("of variable length that holds no plain numbers");
  return heap_reference({element.dtype, element.swap});
}

hid_t standard_type(DType dtype) {
  switch (dtype) {
    case DType::uint8:
      return H5T_STD_U8LE;
    case DType::int8:
      return H5T_STD_I8LE;
    case DType::uint16:
      return H5T_STD_U16LE;
    case DType::int16:
      return H5T_STD_I16LE;
    case DType::uint32:
      return H5T_STD_U32LE;
    case DType::int32:
      return H5T_STD_I32LE;
    case DType::uint64:
      return H5T_STD_U64LE;
    case DType::int64:
      return H5T_STD_I64LE;
    case DType::float64:
      return H5T_IEEE_F64LE;
    default:
      return H5T_IEEE_F32LE;
  }
}

}  // namespace

Hdf5Element element_of(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return {.dtype = integer_dtype(type), .swap = swapped(type)};
    case H5T_FLOAT:
      return {.dtype = float_dtype(type), .swap = swapped(type)};
    case H5T_ENUM:
      return enumeration(type);
    case H5T_ARRAY:
      return array(type);
    case H5T_STRING:
      if (H5Tis_variable_str(type) > 0)
        return {.extents = {HeapReference::stored_bytes}, .ragged = RaggedElement{}, .text = true};
      return {.extents = {H5Tget_size(type)}, .text = true};
    case H5T_COMPOUND:
      refuse("compound");
    case H5T_VLEN:
      return sequence(type);
    case H5T_REFERENCE:
      refuse("a reference");
    default:
      refuse("of another class");
  }
}

Hid file_type(DType dtype) {
  if (dtype == DType::boolean) {
    Hid type(H5Tenum_create(H5T_STD_I8LE));
    for (const auto& [name, value] : {std::pair{"FALSE", 0}, std::pair{"TRUE", 1}}) {
      const auto stored = static_cast<signed char>(value);
      H5Tenum_insert(type.get(), name, &stored);
    }
    return type;
  }
  Hid type(H5Tcopy(standard_type(dtype)));
  if (dtype != DType::float16 && dtype != DType::bfloat16) return type;
  const FloatLayout& layout = float_layouts[dtype == DType::float16 ? 0 : 1];
  H5Tset_fields(type.get(), layout.sign, layout.exponent, layout.exponent_bits, 0,
                layout.mantissa_bits);
  H5Tset_size(type.get(), layout.size);
  H5Tset_ebias(type.get(), layout.bias);
  return type;
}

void normalise(void* data, std::size_t count, DType dtype, bool swap) noexcept {
  if (dtype == DType::boolean) {
    auto* bytes = static_cast<std::uint8_t*>(data);
    for (std::size_t i = 0; i < count; ++i)
      bytes[i] = bytes[i] != 0 ? 1 : 0;
  } else if (swap) {
    reverse_bytes(data, count, size_of(dtype));
  }
}

}  // namespace headrace::inline v1::detail
