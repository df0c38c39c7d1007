#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/image/crop_indexed_jpeg.h>
#include <headrace/loaders/image/detail/codec_module.h>
#include <headrace/loaders/image/detail/file_numbers.h>
#include <headrace/loaders/image/format_decoder.h>
#include <headrace/loaders/image/image_formats.h>
#include <headrace/loaders/image/jpeg_decoder.h>
#include <headrace/loaders/image/png_decoder.h>
#include <headrace/loaders/image/tiff_decoder.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace headrace::inline v1::detail {
namespace {

/// Whether some frame of the file is of the lossy kind.
bool is_lossy(const FileNumbers& file) {
  for (std::size_t at = 12; at + 8 <= file.file.size();) {
    if (file.has(at, "VP8 ")) return true;
    at += 8 + (std::size_t{file.at(at + 4, 4)} + 1) / 2 * 2;
  }
  return false;
}

/// OpenCV gives a file to the first of its codecs that knows it. Where WebP's does not, two may
/// that look behind the first bytes: DICOM's, which ends the process, and GDAL's.
void require_own(const FileNumbers& file) {
  if (!file.has(128, "DICM") && !file.has(140, "DTED")) return;
  throw DataError("WebP: has the mark of a DICOM or DTED file inside; convert it to PNG");
}

class WebpDecoder final : public ModuleDecoder {
 public:
  /// Reads the sides from the file's header, without the module.
  ImageHeader open(std::span<const std::byte> bytes) override;
  DecodedLabels decode_labels(const Region& region) override;
  bool keeps_colours() const override { return !is_lossy({picture_.file()}); }
};

ImageHeader WebpDecoder::open(std::span<const std::byte> bytes) {
  if (bytes.size() < 32) throw DataError("WebP: the file ends before its image does");
  const FileNumbers file{bytes};
  require_own(file);
  if (file.has(12, "VP8X"))
    return picture_.open(bytes, "WebP", file.at(24, 3) + 1, file.at(27, 3) + 1);
  if (file.has(12, "VP8L")) {
    const std::uint32_t bits = file.at(21, 4);
    return picture_.open(bytes, "WebP", (bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1);
  }
  return picture_.open(bytes, "WebP", file.at(26, 2) & 0x3fff, file.at(28, 2) & 0x3fff);
}

DecodedLabels WebpDecoder::decode_labels(const Region& /*region*/) {
  if (is_lossy({picture_.file()}))
    throw DataError("WebP: a lossy file keeps no labels; store masks as PNG");
  return picture_.decode_labels();
}

/// WebP. Labels are those of lossless files; lossy ones keep none.
std::unique_ptr<FormatDecoder> make_webp_decoder() {
  return std::make_unique<WebpDecoder>();
}

/// Whether a bitmap of the usual header (40 bytes and more) keeps 1, 4 or 8 bits a pixel,
/// uncompressed: the indices of a palette.
bool is_indexed(const FileNumbers& file) noexcept {
  if (file.file.size() < 54 || file.at(14, 4) < 40) return false;
  const std::uint32_t bits = file.at(28, 2);
  return file.at(30, 4) == 0 && (bits == 1 || bits == 4 || bits == 8);
}

/// The indices of such a file, top row first, width * height of them.
void read_indices(const FileNumbers& file, const ImageHeader& header, std::uint16_t* out) {
  const std::uint32_t bits = file.at(28, 2);
  const bool top_first = (file.at(22, 4) >> 31) != 0;
  const std::size_t start = file.at(10, 4);
  const std::size_t row_bytes = (static_cast<std::size_t>(header.width) * bits + 31) / 32 * 4;
  const auto rows = static_cast<std::size_t>(header.height);
  const std::span<const std::byte> bytes = file.file;
  if (start > bytes.size() || (bytes.size() - start) / row_bytes < rows) {
    throw DataError("BMP: the file ends before its image does");
  }
  for (std::size_t y = 0; y < rows; ++y) {
    const auto row = bytes.subspan(start + row_bytes * (top_first ? y : rows - 1 - y), row_bytes);
    for (std::size_t x = 0; x < static_cast<std::size_t>(header.width); ++x) {
      const std::size_t bit = x * bits;
      const auto shift = static_cast<unsigned>(8 - bits - bit % 8);
      *out++ = static_cast<std::uint16_t>(std::to_integer<unsigned>(row[bit / 8]) >> shift &
                                          ((1U << bits) - 1));
    }
  }
}

class BmpDecoder final : public ModuleDecoder {
 public:
  /// Reads the sides from the file's header, without the module.
  ImageHeader open(std::span<const std::byte> bytes) override;
  DecodedLabels decode_labels(const Region& region) override;
  bool keeps_colours() const override { return !is_indexed({picture_.file()}); }
};

ImageHeader BmpDecoder::open(std::span<const std::byte> bytes) {
  const FileNumbers file{bytes};
  if (file.at(14, 4) == 12) return picture_.open(bytes, "BMP", file.at(18, 2), file.at(20, 2));
  const auto height = static_cast<std::int32_t>(file.at(22, 4));
  return picture_.open(bytes, "BMP", static_cast<std::int32_t>(file.at(18, 4)),
                       std::abs(std::int64_t{height}));
}

DecodedLabels BmpDecoder::decode_labels(const Region& /*region*/) {
  const FileNumbers file{picture_.file()};
  if (!is_indexed(file)) return picture_.decode_labels();
  read_indices(file, picture_.header(), picture_.label_room());
  return picture_.labels();
}

/// Windows bitmaps. Labels are the indices of a file with a palette, otherwise the one value of all
/// channels.
std::unique_ptr<FormatDecoder> make_bmp_decoder() {
  return std::make_unique<BmpDecoder>();
}

/// JPEG files, with a crop index or without.
class JpegFormat final : public FormatDecoder {
 public:
  ImageHeader open(std::span<const std::byte> file) override;
  DecodedPixels decode(const Region& region, int scale) override;
  DecodedLabels decode_labels(const Region& region) override;
  std::size_t needed_bytes(const Region& region, int scale) const override;
  DecodedPixels check(const Region& whole) override;
  bool scales() const override { return true; }
  bool decode_whole(std::uint8_t* rgb) override;
  bool suits_device() const override { return !indexed_ && jpeg_.is_plain(); }

 private:
  DecodedPixels decode_part(const Region& region, int scale);
  void open_plain();

  std::span<const std::byte> file_;
  bool indexed_ = false;
  ImageHeader header_;
  CropIndexedJpeg parts_;
  JpegDecoder jpeg_;
};

ImageHeader JpegFormat::open(std::span<const std::byte> file) {
  file_ = file;
  indexed_ = CropIndexedJpeg::recognises(file);
  header_ = indexed_ ? parts_.open(file) : jpeg_.open(file);
  return header_;
}

/// The whole file as libjpeg-turbo sees it, which knows of no index.
void JpegFormat::open_plain() {
  const ImageHeader plain = jpeg_.open(file_);
  if (plain.width == header_.width && plain.height == header_.height) return;
  throw DataError("JPEG: its header can be read in two ways; encode the image again");
}

DecodedPixels JpegFormat::decode(const Region& region, int scale) {
  return indexed_ ? decode_part(region, scale) : jpeg_.decode(region, scale);
}

DecodedPixels JpegFormat::decode_part(const Region& region, int scale) {
  const CropIndexedJpeg::Part part = parts_.part(region, scale);
  jpeg_.open_part(part.markers);
  Region inside = region;
  inside.x -= part.x;
  inside.y -= part.y;
  DecodedPixels pixels = jpeg_.decode_part(inside, scale, part.rows);
  pixels.region.x += part.x / scale;
  pixels.region.y += part.y / scale;
  return pixels;
}

std::size_t JpegFormat::needed_bytes(const Region& region, int scale) const {
  return JpegDecoder::pixel_bytes(region, scale) +
         (indexed_ ? JpegDecoder::line_bytes(header_.width) : jpeg_.library_bytes());
}

DecodedPixels JpegFormat::check(const Region& whole) {
  if (indexed_) {
    parts_.check();
    open_plain();
  }
  return jpeg_.decode(whole, 8);
}

bool JpegFormat::decode_whole(std::uint8_t* rgb) {
  if (indexed_) open_plain();
  jpeg_.decode_whole(rgb);
  return true;
}

DecodedLabels JpegFormat::decode_labels(const Region& /*region*/) {
  throw DataError("JPEG: its compression changes labels; store masks as PNG");
}

}  // namespace

}  // namespace headrace::inline v1::detail

namespace headrace::inline v1 {
namespace {

using namespace std::string_view_literals;

/// A decoder that knows regions at full size and nothing more.
template <class Decoder>
class Plain final : public FormatDecoder {
 public:
  ImageHeader open(std::span<const std::byte> file) override { return decoder_.open(file); }
  DecodedPixels decode(const Region& region, int /*scale*/) override {
    return decoder_.decode(region);
  }
  DecodedLabels decode_labels(const Region& region) override {
    return decoder_.decode_labels(region);
  }
  std::size_t needed_bytes(const Region& region, int /*scale*/) const override {
    return decoder_.needed_bytes(region);
  }
  bool keeps_colours() const override { return decoder_.keeps_colours(); }

 private:
  Decoder decoder_;
};

template <class Decoder>
std::unique_ptr<FormatDecoder> make() {
  return std::make_unique<Decoder>();
}

constexpr ImageFormat formats[] = {
    {"JPEG", {".jpg", ".jpeg", ".jfif", ".jpe"}, {"\xff\xd8\xff"sv}, make<detail::JpegFormat>},
    {"PNG", {".png"}, {"\x89PNG\r\n\x1a\n"sv}, make<Plain<PngDecoder>>},
    {"WebP", {".webp"}, {"RIFF????WEBP"sv}, detail::make_webp_decoder},
    {"BMP", {".bmp"}, {"BM"sv}, detail::make_bmp_decoder},
    {"TIFF",
     {".tif", ".tiff"},
     {"II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv},
     make<Plain<TiffDecoder>>},
};

bool begins_with(std::span<const std::byte> file, std::string_view signature) noexcept {
  if (signature.empty() || file.size() < signature.size()) return false;
  for (std::size_t i = 0; i < signature.size(); ++i) {
    if (signature[i] != '?' && file[i] != static_cast<std::byte>(signature[i])) return false;
  }
  return true;
}

}  // namespace

std::span<const ImageFormat> image_formats() noexcept {
  return formats;
}

const ImageFormat* format_of(std::span<const std::byte> file) noexcept {
  for (const ImageFormat& format : formats) {
    for (const std::string_view signature : format.signatures) {
      if (begins_with(file, signature)) return &format;
    }
  }
  return nullptr;
}

bool begins_as_image(std::span<const std::byte> start) noexcept {
  const ImageFormat* format = format_of(start);
  return format != nullptr && format->name != "BMP" && format->name != "TIFF";
}

bool has_image_extension(std::string_view path) {
  const std::string extension = detail::extension_of(path);
  if (extension.empty()) return false;
  return std::any_of(std::begin(formats), std::end(formats), [&](const ImageFormat& format) {
    const auto& known = format.extensions;
    return std::find(known.begin(), known.end(), extension) != known.end();
  });
}

}  // namespace headrace::inline v1
