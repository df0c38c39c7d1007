#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/internal/tiff_callbacks.h>
#include <headrace/loaders/volume/detail/tiff/tiff_handle.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <tiffio.h>

namespace headrace::inline v1::detail {
namespace {

TiffHandle& handle_of(thandle_t user) {
  return *static_cast<TiffHandle*>(user);
}

tmsize_t read_file(thandle_t user, void* to, tmsize_t count) noexcept {
  TiffHandle& handle = handle_of(user);
  if (count <= 0 || handle.place >= handle.size()) return 0;
  try {
    const std::size_t there =
        std::min(static_cast<std::uint64_t>(count), handle.size() - handle.place);
    handle.file()->read({static_cast<std::byte*>(to), there}, handle.place);
    handle.place += there;
    handle.read_bytes += there;
    return static_cast<tmsize_t>(there);
  } catch (...) {
    handle.refusal = std::current_exception();
    return 0;  // libtiff would set its buffer to zero from the byte before it for -1
  }
}

struct SampleType {
  unsigned format, bits;
  DType dtype;
};

constexpr std::array sample_types{
    SampleType{SAMPLEFORMAT_UINT, 8, DType::uint8},
    SampleType{SAMPLEFORMAT_UINT, 16, DType::uint16},
    SampleType{SAMPLEFORMAT_UINT, 32, DType::uint32},
    SampleType{SAMPLEFORMAT_UINT, 64, DType::uint64},
    SampleType{SAMPLEFORMAT_INT, 8, DType::int8},
    SampleType{SAMPLEFORMAT_INT, 16, DType::int16},
    SampleType{SAMPLEFORMAT_INT, 32, DType::int32},
    SampleType{SAMPLEFORMAT_INT, 64, DType::int64},
    SampleType{SAMPLEFORMAT_IEEEFP, 32, DType::float32},
    SampleType{SAMPLEFORMAT_IEEEFP, 64, DType::float64},
};

const SampleType* type_of(unsigned format, unsigned bits) {
  if (format == SAMPLEFORMAT_VOID) format = SAMPLEFORMAT_UINT;
  const auto* found = std::ranges::find_if(sample_types, [&](const SampleType& type) {
    return type.format == format && type.bits == bits;
  });
  return found != sample_types.end() ? found : nullptr;
}

/// Bytes that one stored byte can become at most; 0 where that is not bounded.
std::uint64_t most_ratio(unsigned compression) {
  switch (compression) {
    case COMPRESSION_NONE:
      return 1;
    case COMPRESSION_PACKBITS:
      return 64;
    case COMPRESSION_DEFLATE:
    case COMPRESSION_ADOBE_DEFLATE:
      return 1032;
    case COMPRESSION_LZW:
      return 1500;
    default:
      return 0;
  }
}

}  // namespace

template <class T>
T TiffHandle::tag(unsigned number, T otherwise) const {
  T value = otherwise;
  return TIFFGetFieldDefaulted(handle_, number, &value) == 1 ? value : otherwise;
}

/// libtiff goes on without the tags and directories that it could not read.
void TiffHandle::require_read() {
  if (!refusal) return;
  close();
  std::rethrow_exception(std::exchange(refusal, nullptr));
}

void TiffHandle::fail(const std::string& rule) {
  require_read();
  const std::string cause = message.empty() ? "" : " (" + printable(message) + ")";
  const std::shared_ptr<const VoxelFile> file = file_;
  close();
  file->fail(rule + cause + "; the file is damaged, copy it again");
}

void TiffHandle::fail_page(std::size_t number, const std::string& rule) {
  require_read();
  const std::shared_ptr<const VoxelFile> file = file_;
  close();
  file->fail("page " + std::to_string(number) + ": " + rule);
}

void TiffHandle::close() noexcept {
  if (handle_ != nullptr) TIFFClose(handle_);
  handle_ = nullptr;
  file_.reset();
}

void TiffHandle::open(std::shared_ptr<const VoxelFile> file, std::size_t most_bytes) {
  close();
  file_ = std::move(file);
  most_bytes_ = most_bytes;
  place = 0;
  message.clear();
  // Neither mapped nor with long strips cut into short ones.
  handle_ = TiffCallbacks<TiffHandle>::open(*this, "volume", "rmc", most_bytes, read_file,
                                            TiffCallbacks<TiffHandle>::refuse_write);
  if (handle_ == nullptr) fail("must be a TIFF file, got a broken header or directory");
  require_read();
}

bool TiffHandle::next() {
  if (TIFFLastDirectory(handle_) != 0) return false;
  message.clear();
  if (TIFFReadDirectory(handle_) != 1)
    fail("its directories must be a chain that ends, got a broken one or a loop");
  require_read();
  return true;
}

std::uint64_t TiffHandle::directory() const noexcept {
  return TIFFCurrentDirOffset(handle_);
}

void TiffHandle::go_to(std::uint64_t offset) {
  if (directory() == offset) return;
  message.clear();
  if (TIFFSetSubDirectory(handle_, offset) != 1)
    fail("the directory at byte " + std::to_string(offset) + " cannot be read any more");
  require_read();
}

bool TiffHandle::is_extra() const {
  constexpr std::uint32_t extra = FILETYPE_REDUCEDIMAGE | FILETYPE_MASK;
  return (tag<std::uint32_t>(TIFFTAG_SUBFILETYPE, 0) & extra) != 0;
}

std::string_view TiffHandle::description() const {
  const char* text = nullptr;
  if (TIFFGetField(handle_, TIFFTAG_IMAGEDESCRIPTION, &text) != 1 || text == nullptr) return {};
  return text;
}

std::array<double, 2> TiffHandle::resolution() const {
  const auto positive = [](float value) {
    return std::isfinite(value) && value > 0.0F ? static_cast<double>(value) : 0.0;
  };
  return {positive(tag<float>(TIFFTAG_YRESOLUTION, 0.0F)),
          positive(tag<float>(TIFFTAG_XRESOLUTION, 0.0F))};
}

void TiffHandle::check_kind(std::size_t number) {
  const auto samples = tag<std::uint16_t>(TIFFTAG_SAMPLESPERPIXEL, 1);
  const auto photometric = tag<std::uint16_t>(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
  const bool grey = photometric == PHOTOMETRIC_MINISBLACK ||
                    photometric == PHOTOMETRIC_MINISWHITE || photometric == PHOTOMETRIC_PALETTE;
  if (samples != 1 || !grey) {
    fail_page(number, "must have one grey sample a pixel, got " + std::to_string(samples) +
                          " with photometric " + std::to_string(photometric) +
                          "; save each channel as a stack of its own");
  }
  const auto compression = tag<std::uint16_t>(TIFFTAG_COMPRESSION, COMPRESSION_NONE);
  if (TIFFIsCODECConfigured(compression) == 0) {
    fail_page(number, "compression " + std::to_string(compression) +
                          " is not one that libtiff has here; save it with deflate or LZW");
  }
}

/// Of one directory: those that hold several slices in their own way are refused.
void TiffHandle::check_slices(std::size_t number) {
  const auto depth =
      std::max(tag<std::uint32_t>(TIFFTAG_IMAGEDEPTH, 1), tag<std::uint32_t>(TIFFTAG_TILEDEPTH, 1));
  if (depth != 1) {
    fail_page(number, "must be one slice, got " + std::to_string(depth) +
                          " (ImageDepth, TileDepth); save each slice as a page");
  }
  constexpr std::array<std::uint32_t, 4> metamorph{33628, 33629, 33630, 33631};
  constexpr std::uint32_t zeiss = 34412;
  constexpr std::size_t time_points = 24;  // their place in Zeiss's block, which is little-endian
  std::uint32_t count = 0;
  const std::byte* data = nullptr;
  for (const std::uint32_t own : metamorph) {
    if (TIFFGetField(handle_, own, &count, &data) != 1 || count < 2) continue;
    fail_page(number, "is a MetaMorph stack (STK) of " + std::to_string(count) +
                          " planes in one directory; save it as a TIFF of as many pages");
  }
  if (TIFFGetField(handle_, zeiss, &count, &data) != 1 || count < time_points + 4) return;
  if (std::to_integer<int>(data[time_points]) > 1 ||
      std::any_of(data + time_points + 1, data + time_points + 4,
                  [](std::byte part) { return part != std::byte{}; }))
    fail_page(number, "is of a Zeiss LSM file with several time points; save each as a TIFF");
}

void TiffHandle::measure_parts(std::size_t number, TiffPage& page) {
  page.tiled = TIFFIsTiled(handle_) != 0;
  const auto height = static_cast<std::uint32_t>(page.height);
  page.part_width = page.tiled ? tag<std::uint32_t>(TIFFTAG_TILEWIDTH, 0) : page.width;
  page.part_height = page.tiled
                         ? tag<std::uint32_t>(TIFFTAG_TILELENGTH, 0)
                         : std::min(tag<std::uint32_t>(TIFFTAG_ROWSPERSTRIP, height), height);
  message.clear();
  page.part_bytes = page.tiled ? TIFFTileSize64(handle_) : TIFFStripSize64(handle_);
  const std::uint64_t voxels =
      static_cast<std::uint64_t>(page.part_width) * static_cast<std::uint64_t>(page.part_height);
  // One much larger than its page is no one's tile, and memory is taken for whole ones.
  const std::uint64_t most =
      std::max<std::uint64_t>(std::uint64_t{1} << 24, 2 * static_cast<std::uint64_t>(page.width) *
                                                          static_cast<std::uint64_t>(page.height));
  if (voxels > 0 && voxels <= most && page.part_bytes <= most_bytes_ &&
      page.part_bytes == voxels * size_of(page.dtype))
    return;
  fail_page(number, "its strips or tiles must have from 1 to " +
                        std::to_string(std::min(most, most_bytes_ / size_of(page.dtype))) +
                        " pixels, got " + std::to_string(page.part_width) + " x " +
                        std::to_string(page.part_height) + "; save it with smaller ones");
}

/// What a page has can be in its file, as far as the compression tells: memory is taken for it.
void TiffHandle::require_possible(std::size_t number, const TiffPage& page) {
  const std::uint64_t ratio = most_ratio(tag<std::uint16_t>(TIFFTAG_COMPRESSION, COMPRESSION_NONE));
  const auto height = static_cast<std::uint64_t>(page.height);
  if (ratio == 0 || page.row_bytes() / ratio <= file_->size() / height) return;
  fail_page(number, "must have at most " + std::to_string(ratio) + " times the " +
                        std::to_string(file_->size()) + " bytes of its file, got " +
                        std::to_string(page.width) + " x " + std::to_string(page.height) +
                        " pixels; the file is truncated or damaged, copy it again");
}

TiffPage TiffHandle::page(std::size_t number) {
  check_kind(number);
  check_slices(number);
  TiffPage page;
  page.width = tag<std::uint32_t>(TIFFTAG_IMAGEWIDTH, 0);
  page.height = tag<std::uint32_t>(TIFFTAG_IMAGELENGTH, 0);
  if (page.width < 1 || page.height < 1)
    fail_page(number, "must have pixels, got " + std::to_string(page.width) + " x " +
                          std::to_string(page.height));
  const auto format = tag<std::uint16_t>(TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
  const auto bits = tag<std::uint16_t>(TIFFTAG_BITSPERSAMPLE, 1);
  const SampleType* type = type_of(format, bits);
  if (type == nullptr) {
    fail_page(number, "voxels must be integers of 8 to 64 or floats of 32 or 64 bits, got " +
                          std::to_string(bits) + " bits of sample format " +
                          std::to_string(format));
  }
  page.dtype = type->dtype;
  measure_parts(number, page);
  require_possible(number, page);
  page.plain = !page.tiled &&
               tag<std::uint16_t>(TIFFTAG_COMPRESSION, COMPRESSION_NONE) == COMPRESSION_NONE &&
               tag<std::uint16_t>(TIFFTAG_FILLORDER, FILLORDER_MSB2LSB) == FILLORDER_MSB2LSB;
  page.swapped = TIFFIsByteSwapped(handle_) != 0;
  return page;
}

std::uint64_t TiffHandle::place_of(const TiffPage& page, std::int64_t y, std::size_t bytes) {
  const auto strip = static_cast<std::uint32_t>(y / page.part_height);
  const std::uint64_t at = TIFFGetStrileOffset(handle_, strip);
  const std::uint64_t stored = TIFFGetStrileByteCount(handle_, strip);
  require_read();
  if (at > 0 && stored >= bytes && at <= file_->size() && bytes <= file_->size() - at) return at;
  fail("strip " + std::to_string(strip) + " must have " + std::to_string(bytes) +
       " bytes in the file, got " + std::to_string(stored) + " at byte " + std::to_string(at));
}

void TiffHandle::read_part(const TiffPage& page, std::int64_t x, std::int64_t y,
                           std::span<std::byte> out) {
  const auto column = static_cast<std::uint32_t>(x), row = static_cast<std::uint32_t>(y);
  const std::uint32_t part =
      page.tiled ? TIFFComputeTile(handle_, column, row, 0, 0) : TIFFComputeStrip(handle_, row, 0);
  const std::uint64_t stored = TIFFGetStrileByteCount(handle_, part);
  if (stored == 0 || stored > file_->size())
    fail("strip or tile " + std::to_string(part) + " must lie in the file, got " +
         std::to_string(stored) + " bytes");
  message.clear();
  const auto size = static_cast<tmsize_t>(out.size());
  const tmsize_t got = page.tiled ? TIFFReadEncodedTile(handle_, part, out.data(), size)
                                  : TIFFReadEncodedStrip(handle_, part, out.data(), size);
  if (got != size || !message.empty())
    fail("strip or tile " + std::to_string(part) + " is broken or cut off");
  require_read();
}

}  // namespace headrace::inline v1::detail
