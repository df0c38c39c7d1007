#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/image/detail/tiff_file.h>
#include <headrace/loaders/internal/tiff_callbacks.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include <tiffio.h>

namespace headrace::inline v1::detail {
namespace {

constexpr std::size_t most_tiff_memory = std::size_t{1} << 30;
constexpr const char* several_pages =
    "a picture must have one page, got more; save each page as a file, or learn from it as a "
    "volume";

using Callbacks = TiffCallbacks<TiffFile>;

bool is_allowed(unsigned compression) {
  constexpr unsigned allowed[] = {
      COMPRESSION_NONE,          COMPRESSION_PACKBITS, COMPRESSION_LZW,      COMPRESSION_DEFLATE,
      COMPRESSION_ADOBE_DEFLATE, COMPRESSION_ZSTD,     COMPRESSION_CCITTRLE, COMPRESSION_CCITTFAX3,
      COMPRESSION_CCITTFAX4,     COMPRESSION_JPEG};
  return std::find(std::begin(allowed), std::end(allowed), compression) != std::end(allowed);
}

/// Whether a description is of several planes, which may follow that of the one directory: as
/// ImageJ keeps large stacks, and tifffile with truncate=True.
bool tells_of_planes(std::string_view description) {
  if (description.starts_with('{'))
    return description.find("\"truncated\"") != std::string_view::npos;
  constexpr std::string_view key = "\nimages=";
  const std::size_t at = description.find(key);
  if (!description.starts_with("ImageJ=") || at == std::string_view::npos) return false;
  const std::string_view value = description.substr(at + key.size());
  int images = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), images);
  return error == std::errc::result_out_of_range || (error == std::errc() && images > 1);
}

}  // namespace

void TiffFile::fail(const std::string& reason) {
  const std::string cause = message.empty() ? reason : reason + " (" + printable(message) + ")";
  close();
  throw DataError("TIFF: " + cause);
}

void TiffFile::close() noexcept {
  if (handle_ != nullptr) TIFFClose(handle_);
  handle_ = nullptr;
}

template <class T>
T TiffFile::tag(unsigned number, T otherwise) const {
  T value = otherwise;
  return TIFFGetFieldDefaulted(handle_, number, &value) == 1 ? value : otherwise;
}

TiffLayout TiffFile::open(std::span<const std::byte> file) {
  close();
  bytes = file;
  place = 0;
  message.clear();
  handle_ = Callbacks::open(*this, "picture", "rm", most_tiff_memory, Callbacks::read_bytes,
                            Callbacks::refuse_write);
  if (handle_ == nullptr) fail("broken header");
  return read_layout();
}

TiffLayout TiffFile::read_layout() {
  check_pages();
  const auto width = tag<std::uint32_t>(TIFFTAG_IMAGEWIDTH, 0);
  const auto height = tag<std::uint32_t>(TIFFTAG_IMAGELENGTH, 0);
  try {
    check_image_size("TIFF", width, height);
  } catch (...) {
    close();
    throw;
  }
  TiffLayout layout{.width = static_cast<int>(width), .height = static_cast<int>(height)};
  layout.bits = tag<std::uint16_t>(TIFFTAG_BITSPERSAMPLE, 1);
  layout.samples = tag<std::uint16_t>(TIFFTAG_SAMPLESPERPIXEL, 1);
  layout.photometric = tag<std::uint16_t>(TIFFTAG_PHOTOMETRIC, 0xffff);
  layout.planes = tag<std::uint16_t>(TIFFTAG_PLANARCONFIG, 1) == PLANARCONFIG_SEPARATE;
  const int orientation = tag<std::uint16_t>(TIFFTAG_ORIENTATION, 1);
  layout.orientation = orientation >= 1 && orientation <= 8 ? orientation : 1;
  check_kind(layout);
  layout.lossy = tag<std::uint16_t>(TIFFTAG_COMPRESSION, COMPRESSION_NONE) == COMPRESSION_JPEG;
  layout.tiled = TIFFIsTiled(handle_) != 0;
  const auto block_width =
      layout.tiled ? tag<std::uint32_t>(TIFFTAG_TILEWIDTH, 0) : static_cast<std::uint32_t>(width);
  const auto block_height = layout.tiled ? tag<std::uint32_t>(TIFFTAG_TILELENGTH, 0)
                                         : tag<std::uint32_t>(TIFFTAG_ROWSPERSTRIP, height);
  const std::uint64_t block_bytes =
      layout.tiled ? TIFFTileSize64(handle_) : TIFFStripSize64(handle_);
  if (block_width == 0 || block_height == 0 || block_bytes == 0)
    fail("strips or tiles without pixels");
  layout.block_width = static_cast<int>(std::min<std::uint32_t>(block_width, 1U << 30));
  layout.block_height = static_cast<int>(
      layout.tiled ? std::min<std::uint32_t>(block_height, 1U << 30)
                   : std::min<std::uint32_t>(block_height, static_cast<std::uint32_t>(height)));
  layout.block_bytes = block_bytes;
  check_blocks(layout);
  check_planes(layout);
  return layout;
}

/// Nothing of a file is dropped: further pages must be smaller copies or masks of the first.
void TiffFile::check_pages() {
  constexpr std::uint32_t metamorph = 33629;  // a value for each plane of an STK file
  std::uint32_t planes = 0;
  const void* data = nullptr;
  if (tag<std::uint32_t>(TIFFTAG_IMAGEDEPTH, 1) > 1 ||
      (TIFFGetField(handle_, metamorph, &planes, &data) == 1 && planes > 1))
    fail("a picture must have one slice, got more; save each slice as a file");
  if (TIFFLastDirectory(handle_) != 0) return;
  constexpr std::uint32_t extra = FILETYPE_REDUCEDIMAGE | FILETYPE_MASK;
  const auto sides = [&] {
    return std::pair(tag<std::uint32_t>(TIFFTAG_IMAGEWIDTH, 0),
                     tag<std::uint32_t>(TIFFTAG_IMAGELENGTH, 0));
  };
  const auto [width, height] = sides();
  while (TIFFLastDirectory(handle_) == 0) {
    if (TIFFReadDirectory(handle_) != 1) fail("broken directories");
    const auto kind = tag<std::uint32_t>(TIFFTAG_SUBFILETYPE, 0);
    const auto [further_width, further_height] = sides();
    const bool larger = further_width > width || further_height > height;
    const bool smaller = further_width < width || further_height < height;
    if (larger || (kind & extra) == 0 || ((kind & FILETYPE_MASK) == 0 && !smaller))
      fail(several_pages);
  }
  if (TIFFSetDirectory(handle_, 0) != 1) fail("broken directories");
}

/// Of one directory, as they lie in the file: whole planes behind its own, told of or to the byte.
void TiffFile::check_planes(const TiffLayout& layout) {
  constexpr std::uint64_t no_metadata = 1024;
  if (layout.tiled || TIFFLastDirectory(handle_) == 0 ||
      tag<std::uint16_t>(TIFFTAG_COMPRESSION, COMPRESSION_NONE) != COMPRESSION_NONE)
    return;
  const std::uint64_t plane = TIFFScanlineSize64(handle_) *
                              static_cast<std::uint64_t>(layout.height) *
                              static_cast<std::uint64_t>(layout.planes ? layout.samples : 1);
  const std::uint32_t last = TIFFNumberOfStrips(handle_) - 1;
  const std::uint64_t begin = TIFFGetStrileOffset(handle_, 0);
  const std::uint64_t end =
      TIFFGetStrileOffset(handle_, last) + TIFFGetStrileByteCount(handle_, last);
  if (end < begin || end - begin != plane || end > bytes.size() || plane == 0) return;
  const std::uint64_t behind = bytes.size() - end;
  const bool told = tells_of_planes(tag<const char*>(TIFFTAG_IMAGEDESCRIPTION, ""));
  if (behind >= plane && (told || (behind % plane == 0 && plane >= no_metadata)))
    fail(several_pages);
}

/// One sample beyond the colours may be alpha, which is left out as PNG's is.
void TiffFile::check_bands(const TiffLayout& layout, int needed) {
  if (layout.samples == needed) return;
  std::uint16_t count = 0;
  const std::uint16_t* kinds = nullptr;
  const bool told = TIFFGetField(handle_, TIFFTAG_EXTRASAMPLES, &count, &kinds) == 1 && count == 1;
  if (told && layout.samples == needed + 1 &&
      (kinds[0] == EXTRASAMPLE_ASSOCALPHA || kinds[0] == EXTRASAMPLE_UNASSALPHA))
    return;
  fail("must have no bands beyond " + std::to_string(needed) + " of its colours and alpha, got " +
       std::to_string(layout.samples) + "; save those that are wanted, or all as arrays (.npy)");
}

/// A block much larger than its picture is no one's tile, and memory is taken for whole blocks.
void TiffFile::check_blocks(const TiffLayout& layout) {
  const auto width = static_cast<std::uint64_t>(layout.block_width);
  const auto rows = static_cast<std::uint64_t>(layout.block_height);
  const auto together = static_cast<std::uint64_t>(layout.planes ? 1 : layout.samples);
  const auto apart = static_cast<std::uint64_t>(layout.planes ? layout.samples : 1);
  const std::uint64_t row_bytes =
      (width * together * static_cast<std::uint64_t>(layout.bits) + 7) / 8;
  const auto picture =
      static_cast<std::uint64_t>(layout.width) * static_cast<std::uint64_t>(layout.height);
  const std::uint64_t most_pixels = std::max<std::uint64_t>(std::uint64_t{1} << 24, 2 * picture);
  if (width * rows > most_pixels || layout.block_bytes > most_tiff_memory / apart ||
      row_bytes * rows > layout.block_bytes) {
    fail("strips or tiles of " + std::to_string(width) + " x " + std::to_string(rows) +
         " pixels in a picture of " + std::to_string(layout.width) + " x " +
         std::to_string(layout.height));
  }
}

void TiffFile::check_kind(const TiffLayout& layout) {
  const auto compression = tag<std::uint16_t>(TIFFTAG_COMPRESSION, COMPRESSION_NONE);
  const auto format = tag<std::uint16_t>(TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
  const int photometric = layout.photometric;
  const bool jpeg = compression == COMPRESSION_JPEG;
  const int needed = photometric == PHOTOMETRIC_SEPARATED                                 ? 4
                     : photometric == PHOTOMETRIC_RGB || photometric == PHOTOMETRIC_YCBCR ? 3
                                                                                          : 1;
  const bool known = photometric == PHOTOMETRIC_MINISWHITE ||
                     photometric == PHOTOMETRIC_MINISBLACK || photometric == PHOTOMETRIC_RGB ||
                     photometric == PHOTOMETRIC_PALETTE || photometric == PHOTOMETRIC_SEPARATED ||
                     (photometric == PHOTOMETRIC_YCBCR && jpeg);
  const bool bits = layout.bits == 8 || layout.bits == 16 ||
                    (needed == 1 && (layout.bits == 1 || layout.bits == 2 || layout.bits == 4));
  if (!is_allowed(compression) || TIFFIsCODECConfigured(compression) == 0) {
    fail("compression " + std::to_string(compression) +
         " is not supported; convert to deflate or LZW");
  }
  if (format != SAMPLEFORMAT_UINT && format != SAMPLEFORMAT_VOID) {
    fail("samples must be unsigned integers, got sample format " + std::to_string(format) +
         "; save 8 or 16 bits, or arrays (.npy)");
  }
  if (!known || !bits || layout.samples < needed || layout.samples > 16 ||
      (photometric == PHOTOMETRIC_SEPARATED && layout.bits != 8)) {
    fail("must be grey, palette, RGB or CMYK of 1 to 16 bits, got photometric " +
         std::to_string(photometric) + " with " + std::to_string(layout.samples) + " samples of " +
         std::to_string(layout.bits) + " bits");
  }
  check_bands(layout, needed);
  if (photometric == PHOTOMETRIC_YCBCR) {
    TIFFSetField(handle_, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  }
}

void TiffFile::read_block(const TiffLayout& layout, int x, int y, int sample, std::uint8_t* out) {
  const auto column = static_cast<std::uint32_t>(x);
  const auto row = static_cast<std::uint32_t>(y);
  const auto plane = static_cast<std::uint16_t>(sample);
  const std::uint32_t block = layout.tiled ? TIFFComputeTile(handle_, column, row, 0, plane)
                                           : TIFFComputeStrip(handle_, row, plane);
  const std::uint64_t stored = TIFFGetStrileByteCount(handle_, block);
  if (stored == 0 || stored > bytes.size()) fail("the file ends before its image does");
  const auto size = static_cast<tmsize_t>(layout.block_bytes);
  std::memset(out, 0, layout.block_bytes);
  message.clear();
  tmsize_t wanted = size;
  tmsize_t got = 0;
  if (layout.tiled) {
    got = TIFFReadEncodedTile(handle_, block, out, size);
  } else {
    const int rows = std::min(layout.block_height,
                              layout.height - y / layout.block_height * layout.block_height);
    wanted = static_cast<tmsize_t>(TIFFVStripSize64(handle_, static_cast<std::uint32_t>(rows)));
    got = TIFFReadEncodedStrip(handle_, block, out, size);
  }
  if (got < wanted || !message.empty()) fail("broken or cut-off data");
}

void TiffFile::palette(const std::uint16_t* tables[3]) {
  std::uint16_t* red = nullptr;
  std::uint16_t* green = nullptr;
  std::uint16_t* blue = nullptr;
  if (TIFFGetField(handle_, TIFFTAG_COLORMAP, &red, &green, &blue) != 1) {
    fail("a palette picture without a palette");
  }
  tables[0] = red;
  tables[1] = green;
  tables[2] = blue;
}

}  // namespace headrace::inline v1::detail
