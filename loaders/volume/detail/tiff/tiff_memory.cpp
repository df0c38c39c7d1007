#include <headrace/engine/base/error.h>
#include <headrace/loaders/internal/tiff_callbacks.h>
#include <headrace/loaders/volume/detail/tiff/tiff_memory.h>

#include <algorithm>
#include <cstring>

#include <tiffio.h>

namespace headrace::inline v1::detail {
namespace {

tmsize_t write_memory(thandle_t user, void* from, tmsize_t count) noexcept {
  TiffMemory& memory = *static_cast<TiffMemory*>(user);
  if (count <= 0) return 0;
  const auto bytes = static_cast<std::size_t>(count);
  try {
    if (memory.bytes.size() < memory.place + bytes) memory.bytes.resize(memory.place + bytes);
  } catch (const std::exception&) {
    return -1;
  }
  std::memcpy(memory.bytes.data() + memory.place, from, bytes);
  memory.place += bytes;
  return count;
}

std::uint16_t sample_format(DType dtype) {
  if (!is_integer(dtype)) return SAMPLEFORMAT_IEEEFP;
  const bool is_signed = dtype == DType::int8 || dtype == DType::int16 || dtype == DType::int32 ||
                         dtype == DType::int64;
  return is_signed ? SAMPLEFORMAT_INT : SAMPLEFORMAT_UINT;
}

std::uint16_t predictor(DType dtype) {
  if (!is_integer(dtype)) return PREDICTOR_FLOATINGPOINT;
  return size_of(dtype) <= 4 ? PREDICTOR_HORIZONTAL : PREDICTOR_NONE;
}

/// About half a MiB, as readers take large pages.
std::uint32_t rows_per_strip(const TiffPageFormat& format) {
  constexpr std::size_t wanted = std::size_t{1} << 19;
  const std::size_t row = std::size_t{format.width} * size_of(format.dtype);
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(wanted / row, 1, format.height));
}

void set_fields(TIFF* out, const TiffPageFormat& format, bool first) {
  TIFFSetField(out, TIFFTAG_IMAGEWIDTH, format.width);
  TIFFSetField(out, TIFFTAG_IMAGELENGTH, format.height);
  TIFFSetField(out, TIFFTAG_BITSPERSAMPLE, static_cast<int>(8 * size_of(format.dtype)));
  TIFFSetField(out, TIFFTAG_SAMPLESPERPIXEL, 1);
  TIFFSetField(out, TIFFTAG_SAMPLEFORMAT, static_cast<int>(sample_format(format.dtype)));
  TIFFSetField(out, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
  TIFFSetField(out, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  TIFFSetField(out, TIFFTAG_COMPRESSION, COMPRESSION_ADOBE_DEFLATE);
  TIFFSetField(out, TIFFTAG_PREDICTOR, static_cast<int>(predictor(format.dtype)));
  TIFFSetField(out, TIFFTAG_ROWSPERSTRIP, rows_per_strip(format));
  TIFFSetField(out, TIFFTAG_XRESOLUTION, format.resolution_x);
  TIFFSetField(out, TIFFTAG_YRESOLUTION, format.resolution_y);
  TIFFSetField(out, TIFFTAG_RESOLUTIONUNIT, RESUNIT_NONE);
  if (first) TIFFSetField(out, TIFFTAG_IMAGEDESCRIPTION, format.description.c_str());
}

}  // namespace

TiffMemory::TiffMemory(bool large)
    : handle_(TiffCallbacks<TiffMemory>::open(*this, "volume", large ? "w8" : "w", 0,
                                              TiffCallbacks<TiffMemory>::read_bytes,
                                              write_memory)) {
  if (handle_ == nullptr) fail();
}

TiffMemory::~TiffMemory() {
  if (handle_ != nullptr) TIFFClose(handle_);
}

void TiffMemory::add(const TiffPageFormat& format, std::span<const std::byte> voxels) {
  set_fields(handle_, format, first_);
  first_ = false;
  const std::size_t strip_bytes =
      std::size_t{rows_per_strip(format)} * format.width * size_of(format.dtype);
  std::vector<std::byte> strip;  // libtiff takes no const
  for (std::uint32_t number = 0; !voxels.empty(); ++number) {
    const std::span<const std::byte> now = voxels.first(std::min(strip_bytes, voxels.size()));
    strip.assign(now.begin(), now.end());
    const auto count = static_cast<tmsize_t>(now.size());
    if (TIFFWriteEncodedStrip(handle_, number, strip.data(), count) != count) fail();
    voxels = voxels.subspan(now.size());
  }
  if (TIFFWriteDirectory(handle_) != 1) fail();
}

std::span<const std::byte> TiffMemory::finish() {
  message.clear();
  TIFFClose(handle_);
  handle_ = nullptr;
  if (!message.empty()) fail();
  return bytes;
}

void TiffMemory::fail() const {
  throw ResourceError("a TIFF file could not be made in memory (" + message + ")");
}

}  // namespace headrace::inline v1::detail
