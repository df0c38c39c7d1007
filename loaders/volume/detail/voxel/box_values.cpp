#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/volume/detail/voxel/box_copy.h>
#include <headrace/loaders/volume/detail/voxel/box_values.h>
#include <headrace/loaders/volume/detail/voxel/visit_dtype.h>
#include <headrace/loaders/volume/volume_values.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {
namespace {

template <class T>
Outside outside_of(Outside::Rule rule, T value) {
  Outside outside{.rule = rule};
  std::memcpy(outside.fill.data(), &value, sizeof value);
  return outside;
}

template <class T>
BoxMemory memory_of(T* to, const VolumeBox& box) {
  return BoxMemory::dense(reinterpret_cast<std::byte*>(to), box.shape(), sizeof *to);
}

/// Calls convert(stored row, out, count) for the rows of a box that are in the volume, and fills
/// the rest.
template <class Out, class Convert>
void convert_box(const CachedVolume& from, const VolumeBox& box, const Outside& outside, Out* to,
                 const Convert& convert) {
  const std::size_t voxel = size_of(from.info().dtype);
  const BoxMemory memory = memory_of(to, box);
  const VolumeBox inside = from.for_parts(box, outside.rule, [&](const BoxPart& part) {
    BoxMemory target = memory;
    target.voxels = voxel_of(memory, part.in_box, sizeof(Out));
    for (std::int64_t z = 0; z < part.shape[1]; ++z) {
      for (std::int64_t y = 0; y < part.shape[2]; ++y) {
        convert(voxel_of(part.stored, {0, z, y, 0}, voxel),
                reinterpret_cast<Out*>(voxel_of(target, {0, z, y, 0}, sizeof(Out))),
                static_cast<std::size_t>(part.shape[3]));
      }
    }
  });
  fill_outside(memory, box.shape(), inside, outside, sizeof(Out));
}

template <class T>
void read_scaled_as(const ValueBox& what, float scale, float offset, float* to) {
  convert_box(what.from, what.box, outside_of(what.rule, what.outside), to,
              [scale, offset](const std::byte* stored, float* __restrict out, std::size_t count) {
                const auto* voxels = reinterpret_cast<const T*>(stored);
                for (std::size_t i = 0; i < count; ++i)
                  out[i] = static_cast<float>(voxels[i]) * scale + offset;
              });
}

std::int16_t label_of(const CachedVolume& from, float value) {
  if (!(value >= -32768.0F && value <= 32767.0F) || value != std::floor(value)) {
    throw DataError(from.volume().name() +
                    ": labels must be whole numbers from -32768 to 32767, got " + in_digits(value));
  }
  return static_cast<std::int16_t>(value);
}

}  // namespace

bool is_scaled_at_once(DType stored) noexcept {
  return stored == DType::uint8 || stored == DType::int16 || stored == DType::uint16 ||
         stored == DType::float32;
}

void read_values(const ValueBox& what, float* to) {
  const VolumeInfo& info = what.from.info();
  convert_box(what.from, what.box, outside_of(what.rule, what.outside), to,
              [&](const std::byte* stored, float* out, std::size_t count) {
                to_float(info, {stored, count * size_of(info.dtype)}, out);
              });
}

void read_scaled(const ValueBox& what, float scale, float offset, float* to) {
  switch (what.from.info().dtype) {
    case DType::uint8:
      return read_scaled_as<std::uint8_t>(what, scale, offset, to);
    case DType::int16:
      return read_scaled_as<std::int16_t>(what, scale, offset, to);
    case DType::uint16:
      return read_scaled_as<std::uint16_t>(what, scale, offset, to);
    case DType::float32:
      if (scale == 1.0F && offset == 0.0F) {
        what.from.read_box(what.box, memory_of(to, what.box), outside_of(what.rule, what.outside));
        return;
      }
      return read_scaled_as<float>(what, scale, offset, to);
    default:
      break;
  }
  const VolumeInfo& info = what.from.info();
  convert_box(what.from, what.box, outside_of(what.rule, what.outside), to,
              [&](const std::byte* stored, float* out, std::size_t count) {
                to_float(info, {stored, count * size_of(info.dtype)}, out);
                for (std::size_t i = 0; i < count; ++i)
                  out[i] = out[i] * scale + offset;
              });
}

void read_labels(const CachedVolume& from, const VolumeBox& box, std::int16_t outside,
                 std::int16_t* to) {
  const VolumeInfo& info = from.info();
  std::vector<float> values(static_cast<std::size_t>(info.block[3]));
  convert_box(from, box, outside_of(Outside::Rule::fill, outside), to,
              [&](const std::byte* stored, std::int16_t* out, std::size_t count) {
                to_float(info, {stored, count * size_of(info.dtype)}, values.data());
                for (std::size_t i = 0; i < count; ++i)
                  out[i] = label_of(from, values[i]);
              });
}

}  // namespace headrace::inline v1::detail
