#include <headrace/engine/base/error.h>
#include <headrace/loaders/internal/byte_order.h>
#include <headrace/loaders/volume/detail/nifti/nifti_header.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace headrace::inline v1::detail {
namespace {

/// The fields of a NIfTI header that matter here, in the machine's byte order, unchecked.
struct NiftiFields {
  int version = 0;  ///< 1 or 2; 0: it is no NIfTI header
  bool swap = false;
  bool pair = false;
  std::array<std::int64_t, 8> dim{};
  std::int64_t datatype = 0, bitpix = 0;
  std::array<double, 8> pixdim{};
  double offset = 0.0;  ///< of the voxels
  double slope = 0.0, inter = 0.0;
  std::int64_t qform = 0, sform = 0;  ///< codes
  std::array<double, 3> quaternion{}, qoffset{};
  std::array<double, 12> srow{};
  int units = 0;  ///< xyzt_units
};

/// Numbers at places of a header whose length is checked.
class Reader {
 public:
  Reader(const std::byte* start, bool swap) : start_(start), swap_(swap) {}

  template <class T>
  T get(std::size_t at) const noexcept {
    T value;
    std::memcpy(&value, start_ + at, sizeof value);
    if (swap_) reverse_bytes(&value, 1, sizeof value);
    return value;
  }
  template <class T, class To, std::size_t n>
  void all(std::size_t at, std::array<To, n>& to) const noexcept {
    for (std::size_t i = 0; i < n; ++i)
      to[i] = static_cast<To>(get<T>(at + i * sizeof(T)));
  }

 private:
  const std::byte* start_;
  bool swap_;
};

void read_1(const Reader& reader, NiftiFields& fields) noexcept {
  reader.all<std::int16_t>(40, fields.dim);
  fields.datatype = reader.get<std::int16_t>(70);
  fields.bitpix = reader.get<std::int16_t>(72);
  reader.all<float>(76, fields.pixdim);
  fields.offset = static_cast<double>(reader.get<float>(108));
  fields.slope = static_cast<double>(reader.get<float>(112));
  fields.inter = static_cast<double>(reader.get<float>(116));
  fields.qform = reader.get<std::int16_t>(252);
  fields.sform = reader.get<std::int16_t>(254);
  reader.all<float>(256, fields.quaternion);
  reader.all<float>(268, fields.qoffset);
  reader.all<float>(280, fields.srow);
  fields.units = reader.get<std::uint8_t>(123);
}

void read_2(const Reader& reader, NiftiFields& fields) noexcept {
  fields.datatype = reader.get<std::int16_t>(12);
  fields.bitpix = reader.get<std::int16_t>(14);
  reader.all<std::int64_t>(16, fields.dim);
  reader.all<double>(104, fields.pixdim);
  const auto offset = reader.get<std::int64_t>(168);
  fields.offset = static_cast<double>(offset);
  fields.slope = reader.get<double>(176);
  fields.inter = reader.get<double>(184);
  fields.qform = reader.get<std::int32_t>(344);
  fields.sform = reader.get<std::int32_t>(348);
  reader.all<double>(352, fields.quaternion);
  reader.all<double>(376, fields.qoffset);
  reader.all<double>(400, fields.srow);
  fields.units = reader.get<std::int32_t>(500);
}

/// Lengths in metres or micrometres become millimetres, which a unit that is not told counts as.
void to_millimetres(NiftiFields& fields) noexcept {
  constexpr int space = 7, metre = 1, micrometre = 3;
  const int unit = fields.units & space;
  const double factor = unit == metre ? 1e3 : unit == micrometre ? 1e-3 : 1.0;
  for (std::size_t axis = 1; axis < 4; ++axis)
    fields.pixdim[axis] *= factor;
  for (double& length : fields.qoffset)
    length *= factor;
  for (double& length : fields.srow)
    length *= factor;
}

/// Takes them out of the first bytes of a file; version 0 where these are not a whole header.
NiftiFields nifti_fields(std::span<const std::byte> start) noexcept {
  constexpr std::size_t bytes_1 = 348, bytes_2 = 540;
  NiftiFields fields;
  if (start.size() < bytes_1) return fields;
  for (const bool swap : {false, true}) {
    const Reader reader(start.data(), swap);
    const auto bytes = static_cast<std::size_t>(reader.get<std::uint32_t>(0));
    if ((bytes != bytes_1 && bytes != bytes_2) || start.size() < bytes) continue;
    const auto* text = reinterpret_cast<const char*>(start.data());
    const bool first = bytes == bytes_1;
    const std::string_view magic(text + (first ? 344 : 4), 4);
    const std::string_view single(first ? "n+1" : "n+2", 4), pair(first ? "ni1" : "ni2", 4);
    if (magic != single && magic != pair) continue;
    fields.version = first ? 1 : 2;
    fields.swap = swap;
    fields.pair = magic == pair;
    first ? read_1(reader, fields) : read_2(reader, fields);
    to_millimetres(fields);
    return fields;
  }
  return fields;
}

struct Datatype {
  int number;
  const char* name;
  int bits;
  DType dtype;
  bool read;
};

constexpr std::array datatypes{
    Datatype{2, "uint8", 8, DType::uint8, true},
    Datatype{4, "int16", 16, DType::int16, true},
    Datatype{8, "int32", 32, DType::int32, true},
    Datatype{16, "float32", 32, DType::float32, true},
    Datatype{64, "float64", 64, DType::float64, true},
    Datatype{256, "int8", 8, DType::int8, true},
    Datatype{512, "uint16", 16, DType::uint16, true},
    Datatype{768, "uint32", 32, DType::uint32, true},
    Datatype{1024, "int64", 64, DType::int64, true},
    Datatype{1280, "uint64", 64, DType::uint64, true},
    Datatype{1, "binary", 1, DType::uint8, false},
    Datatype{32, "complex64", 64, DType::uint8, false},
    Datatype{128, "RGB24", 24, DType::uint8, false},
    Datatype{1536, "float128", 128, DType::uint8, false},
    Datatype{1792, "complex128", 128, DType::uint8, false},
    Datatype{2048, "complex256", 256, DType::uint8, false},
    Datatype{2304, "RGBA32", 32, DType::uint8, false},
};

DType dtype_of(const NiftiFields& fields) {
  for (const Datatype& type : datatypes) {
    if (type.number != fields.datatype) continue;
    if (!type.read) {
      throw DataError("voxels must be integers or floats of at most 64 bits, got datatype " +
                      std::to_string(type.number) + " (" + type.name +
                      "); convert them to one of these");
    }
    if (type.bits != fields.bitpix) {
      throw DataError("bitpix must be " + std::to_string(type.bits) + " for " + type.name +
                      " voxels, got " + std::to_string(fields.bitpix) +
                      "; the header is damaged, copy the file again");
    }
    return type.dtype;
  }
  throw DataError("the datatype must be one of NIfTI's, got " + std::to_string(fields.datatype) +
                  "; the header is damaged, copy the file again");
}

/// x, y, z and one more axis, which is the time or, after a 4th of extent 1, the vector's.
VolumeIndex shape_of(const std::array<std::int64_t, 8>& dim) {
  if (dim[0] < 1 || dim[0] > 7)
    throw DataError("dim[0] must be from 1 to 7 axes, got " + std::to_string(dim[0]) +
                    "; the header is damaged, copy the file again");
  std::array<std::int64_t, 7> extents{1, 1, 1, 1, 1, 1, 1};
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(dim[0]); ++axis) {
    extents[axis] = dim[axis + 1];
    if (extents[axis] < 1)
      throw DataError("dim[" + std::to_string(axis + 1) + "] must be at least 1, got " +
                      std::to_string(extents[axis]));
  }
  std::int64_t channels = 1;
  for (std::size_t axis = 3; axis < extents.size(); ++axis) {
    if (extents[axis] == 1) continue;
    if (channels > 1 || axis > 4)
      throw DataError("must have x, y, z and one more axis, got " + std::to_string(channels) +
                      " and " + std::to_string(extents[axis]) + " along axes 4 to " +
                      std::to_string(axis + 1) + "; split it into several files");
    channels = extents[axis];
  }
  return {channels, extents[2], extents[1], extents[0]};
}

std::uint64_t offset_of(const NiftiFields& fields) {
  const double least = fields.pair ? 0.0 : fields.version == 1 ? 352.0 : 544.0;
  constexpr double most = 9007199254740992.0;  // 2^53
  double offset = fields.offset;
  if (offset == 0.0) offset = least;
  if (!(offset >= least && offset <= most) || offset != std::floor(offset)) {
    throw DataError("vox_offset must be a whole number from " +
                    std::to_string(static_cast<int>(least)) + " on, got " +
                    std::to_string(fields.offset) + "; the header is damaged");
  }
  return static_cast<std::uint64_t>(offset);
}

/// A distance: its size, or 1 where it says none.
double distance(double pixdim) {
  const double size = std::abs(pixdim);
  return std::isfinite(size) && size > 0.0 ? size : 1.0;
}

using Affine = std::array<double, 12>;

/// Codes other than those that the format has count as none.
bool has_form(std::int64_t code) {
  return code >= 1 && code <= 5;
}

Affine qform(const NiftiFields& fields, const std::array<double, 3>& steps) {
  constexpr double near_zero = 3.0 * static_cast<double>(std::numeric_limits<float>::epsilon());
  double b = fields.quaternion[0], c = fields.quaternion[1], d = fields.quaternion[2];
  const double rest = 1.0 - (b * b + c * c + d * d);
  if (!(rest > -near_zero))
    throw DataError("the quaternion of its orientation must be at most 1 long, got a square of " +
                    std::to_string(1.0 - rest) + "; the header is damaged");
  double a = rest < near_zero ? 0.0 : std::sqrt(rest);
  const double scale = std::sqrt(2.0 / (a * a + b * b + c * c + d * d));
  a *= scale, b *= scale, c *= scale, d *= scale;
  const double x = steps[0], y = steps[1];
  const double z = fields.pixdim[0] == -1.0 ? -steps[2] : steps[2];
  return {(1 - (c * c + d * d)) * x, (b * c - a * d) * y,       (b * d + a * c) * z,
          fields.qoffset[0],         (b * c + a * d) * x,       (1 - (b * b + d * d)) * y,
          (c * d - a * b) * z,       fields.qoffset[1],         (b * d - a * c) * x,
          (c * d + a * b) * y,       (1 - (b * b + c * c)) * z, fields.qoffset[2]};
}

Affine affine_of(const NiftiFields& fields, const VolumeIndex& shape) {
  if (has_form(fields.sform)) return fields.srow;
  const std::array<double, 3> steps{distance(fields.pixdim[1]), distance(fields.pixdim[2]),
                                    distance(fields.pixdim[3])};
  if (has_form(fields.qform)) return qform(fields, steps);
  const auto middle = [&](std::size_t axis) {
    return steps[axis] * static_cast<double>(shape[3 - axis] - 1) / 2.0;
  };
  return {-steps[0], 0, 0, middle(0), 0, steps[1], 0, -middle(1), 0, 0, steps[2], -middle(2)};
}

}  // namespace

bool is_nifti(std::span<const std::byte> start) noexcept {
  return nifti_fields(start).version != 0;
}

NiftiHeader parse_nifti_header(std::span<const std::byte> start) {
  const NiftiFields fields = nifti_fields(start);
  if (fields.version == 0) {
    throw DataError(
        "must begin with a header of NIfTI-1 (348 bytes) or NIfTI-2 (540 bytes) and its magic, got "
        "another or a part of one; check that it is a whole NIfTI file, and convert Analyze's");
  }
  NiftiHeader header;
  header.swap = fields.swap;
  header.pair = fields.pair;
  header.info.dtype = dtype_of(fields);
  header.info.shape = shape_of(fields.dim);
  header.offset = offset_of(fields);
  for (std::size_t axis = 0; axis < 3; ++axis)
    header.info.spacing[axis] = distance(fields.pixdim[3 - axis]);
  header.info.affine = affine_of(fields, header.info.shape);
  if (fields.slope != 0.0 && std::isfinite(fields.slope)) {
    header.info.scale = fields.slope;
    header.info.offset = fields.inter;
  }
  return header;
}

int nifti_datatype(DType dtype) noexcept {
  for (const Datatype& type : datatypes)
    if (type.read && type.dtype == dtype) return type.number;
  return 0;
}

}  // namespace headrace::inline v1::detail
