#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/detail/nifti/nifti_fields.h>
#include <headrace/loaders/volume/detail/nifti/nifti_header.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>

namespace headrace::inline v1::detail {
namespace {

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
