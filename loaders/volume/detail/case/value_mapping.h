#pragma once

#include <headrace/loaders/volume/volume.h>

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>

namespace headrace::inline v1::detail {

/// The lowest and the highest number; no number at all where low > high.
struct NumberRange {
  double low = 0.0;
  double high = -1.0;

  bool empty() const noexcept { return !(low <= high); }
  void add(const NumberRange& other) noexcept;
};

/// The finite numbers among stored voxels, neither scaled nor offset.
NumberRange range_of(std::span<const std::byte> stored, DType dtype) noexcept;

/// The numbers that an integer dtype (or a boolean) holds.
NumberRange range_of(DType dtype) noexcept;

/// How stored voxels of one dtype become those of another.
struct ValueMapping {
  enum class Kind : unsigned char {
    copy,   ///< bytes as they are
    keep,   ///< the stored numbers, clamped to `range`; scale and offset stay
    scale,  ///< values, clamped to `range`, spread over all numbers of an integer dtype
    value,  ///< values, clamped to `range`, as floats
  };
  Kind kind = Kind::copy;
  DType from = DType::uint8;
  DType to = DType::uint8;
  double from_scale = 1.0;
  double from_offset = 0.0;
  double scale = 1.0;   ///< of the new numbers
  double offset = 0.0;  ///< of the new numbers
  NumberRange range{};

  /// `from` and `to` hold as many voxels. Integers round to nearest, what is no number becomes the
  /// lowest one. Throws DataError (bare rule) for a value that float16 cannot hold.
  void apply(std::span<const std::byte> from_voxels, std::span<std::byte> to_voxels) const;
};

/// What is asked of a mapping.
struct MappingRequest {
  DType to = DType::uint8;
  std::optional<std::array<double, 2>> clip{};  ///< values
};

/// Whole numbers stay what they are where all of them fit; floats, and numbers under a clip range
/// that does not fit, are spread over the new dtype. `scan` gives the range of all stored numbers;
/// it is called only where the mapping depends on it. Throws DataError (bare rule) for whole
/// numbers that do not fit.
ValueMapping choose_mapping(const VolumeInfo& from, const MappingRequest& request,
                            const std::function<NumberRange()>& scan);

}  // namespace headrace::inline v1::detail
