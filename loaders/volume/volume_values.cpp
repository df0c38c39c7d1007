#include <headrace/loaders/volume/detail/voxel/visit_dtype.h>
#include <headrace/loaders/volume/volume_values.h>

#include <cstring>

namespace headrace::inline v1 {

void to_float(const VolumeInfo& info, std::span<const std::byte> stored, float* values) noexcept {
  const double scale = info.scale, offset = info.offset;
  const bool plain = scale == 1.0 && offset == 0.0;
  detail::visit_dtype(info.dtype, [&](auto element) {
    const std::size_t count = stored.size() / sizeof element;
    const std::byte* at = stored.data();
    for (std::size_t i = 0; i < count; ++i, at += sizeof element) {
      std::memcpy(&element, at, sizeof element);
      double value = detail::number_of(element);
      if (info.dtype == DType::boolean) value = value != 0.0 ? 1.0 : 0.0;
      values[i] = static_cast<float>(plain ? value : value * scale + offset);
    }
  });
}

}  // namespace headrace::inline v1
