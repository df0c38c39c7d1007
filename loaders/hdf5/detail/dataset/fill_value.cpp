#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/detail/dataset/describe_parts.h>

#include <cstring>
#include <string>
#include <string_view>

namespace headrace::inline v1::detail {
namespace {

herr_t encode(hid_t list, void* to, std::size_t& bytes) {
#if H5_VERSION_GE(1, 12, 0)
  return H5Pencode2(list, to, &bytes, H5P_DEFAULT);
#else
  return H5Pencode(list, to, &bytes);
#endif
}

/// How many bytes the file stores of a fill value. The library gives it only as an element, but
/// writes its size where it writes the whole list: behind the name and two times, a byte each.
std::uint64_t stored_bytes(const H5::DSetCreatPropList& creation) {
  static constexpr std::string_view name{"fill_value\0", 11};
  const H5::DSetCreatPropList alone;  // nothing else in it comes from the file
  std::size_t bytes = 0;
  std::string text;
  if (H5Pcopy_prop(alone.getId(), creation.getId(), name.data()) >= 0 &&
      encode(alone.getId(), nullptr, bytes) >= 0) {
    text.resize(bytes);
    if (encode(alone.getId(), text.data(), bytes) < 0) text.clear();
  }
  std::uint64_t stored = 0;
  const auto at = text.find(name);
  if (at == std::string::npos || text.size() - at < name.size() + 2 + sizeof(stored))
    throw DataError("has a fill value whose size cannot be told; the file is damaged");
  std::memcpy(&stored, text.data() + at + name.size() + 2, sizeof(stored));
  return stored;
}

}  // namespace

void require_fill(const DescribedPart& part) {
  H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
  H5Pfill_value_defined(part.creation.getId(), &defined);
  const H5::DataType type = part.data.getDataType();
  if (defined != H5D_FILL_VALUE_USER_DEFINED || H5Tdetect_class(type.getId(), H5T_VLEN) > 0 ||
      H5Tis_variable_str(type.getId()) > 0)
    return;
  const std::uint64_t stored = stored_bytes(part.creation);
  if (stored == type.getSize()) return;
  throw DataError("must have a fill value of " + std::to_string(type.getSize()) +
                  " bytes, as an element has, got " + std::to_string(stored) +
                  "; the file is damaged, copy it again");
}

}  // namespace headrace::inline v1::detail
