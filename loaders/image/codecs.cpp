#include <headrace/loaders/image/codecs.h>

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/open_module.h>
#include <headrace/loaders/image/detail/indexed_bmp.h>
#include <headrace/loaders/image/opencv_codecs_abi.h>
#include <headrace/loaders/image/pixel_buffer.h>

namespace headrace::inline v1 {
namespace {

constexpr const char* module_file = "headrace_opencv_codecs.so";

struct Module {
  HeadraceDecodeImage* decode = nullptr;
  std::string reason{};
};

Module open_codecs() {
  const detail::Module file = detail::open_module(module_file);
  if (file.handle == nullptr) return {.reason = file.reason};
  auto* decode =
      reinterpret_cast<HeadraceDecodeImage*>(dlsym(file.handle, HEADRACE_DECODE_IMAGE_SYMBOL));
  return {.decode = decode, .reason = "it has no " HEADRACE_DECODE_IMAGE_SYMBOL};
}

const Module& the_module() {
  static const Module module = open_codecs();
  return module;
}

/// Unsigned integers of a file in either byte order; zero outside the file.
struct Reader {
  std::span<const std::byte> file;
  bool big = false;

  std::uint32_t at(std::size_t offset, std::size_t count) const {
    if (offset > file.size() || file.size() - offset < count) return 0;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t place = big ? offset + i : offset + count - 1 - i;
      value = value << 8 | std::to_integer<std::uint32_t>(file[place]);
    }
    return value;
  }
  bool has(std::size_t offset, std::string_view text) const {
    return file.size() >= offset + text.size() &&
           std::memcmp(file.data() + offset, text.data(), text.size()) == 0;
  }
};

struct Sides {
  std::int64_t width = 0;
  std::int64_t height = 0;
};

Sides bmp_sides(const Reader& file) {
  if (file.at(14, 4) == 12) return {file.at(18, 2), file.at(20, 2)};
  const auto height = static_cast<std::int32_t>(file.at(22, 4));
  return {static_cast<std::int32_t>(file.at(18, 4)), std::abs(std::int64_t{height})};
}

Sides webp_sides(const Reader& file) {
  if (file.has(12, "VP8X")) return {file.at(24, 3) + 1, file.at(27, 3) + 1};
  if (file.has(12, "VP8L")) {
    const std::uint32_t bits = file.at(21, 4);
    return {(bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1};
  }
  return {file.at(26, 2) & 0x3fff, file.at(28, 2) & 0x3fff};
}

/// Whether some frame of the file is of the lossy kind.
bool is_lossy_webp(const Reader& file) {
  for (std::size_t at = 12; at + 8 <= file.file.size();) {
    if (file.has(at, "VP8 ")) return true;
    at += 8 + (std::size_t{file.at(at + 4, 4)} + 1) / 2 * 2;
  }
  return false;
}

Sides sides_of(ImageFormat format, std::span<const std::byte> file) {
  switch (format) {
    case ImageFormat::bmp:
      return bmp_sides({file});
    case ImageFormat::webp:
      if (file.size() < 32) throw DataError("WebP: the file ends before its image does");
      return webp_sides({file});
    default:
      throw DataError("image must be JPEG, PNG, WebP, BMP or TIFF, got " +
                      std::to_string(file.size()) + " bytes of another kind");
  }
}

}  // namespace

struct CodecsDecoder::State {
  std::span<const std::byte> file;
  ImageHeader header;
  detail::PixelBuffer pixels;
  detail::PixelBuffer labels;
};

CodecsDecoder::CodecsDecoder() : state_(std::make_unique<State>()) {}
CodecsDecoder::~CodecsDecoder() = default;

ImageHeader CodecsDecoder::open(std::span<const std::byte> file) {
  const ImageFormat format = format_of(file);
  const Sides sides = sides_of(format, file);
  check_image_size(format, sides.width, sides.height);
  state_->pixels.trim();
  state_->labels.trim();
  state_->file = file;
  state_->header = {.format = format,
                    .width = static_cast<int>(sides.width),
                    .height = static_cast<int>(sides.height)};
  return state_->header;
}

DecodedPixels CodecsDecoder::decode() {
  const ImageHeader& header = state_->header;
  const std::string format(name_of(header.format));
  const Module& module = the_module();
  if (module.decode == nullptr) {
    throw DataError(format + ": needs the module " + module_file + ", which cannot be opened (" +
                    module.reason + "); install it, or convert the files to JPEG or PNG");
  }
  const std::size_t stride =
      detail::PixelBuffer::padded(static_cast<std::size_t>(header.width) * 4);
  std::uint8_t* out = state_->pixels.reserve(stride * static_cast<std::size_t>(header.height));
  char message[256] = {};
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(state_->file.data());
  if (module.decode(bytes, state_->file.size(), out, stride, header.width, header.height, message,
                    sizeof message) != 0) {
    throw DataError(format + ": " + message);
  }
  return {.data = out,
          .stride = stride,
          .scale = 1,
          .region = {.width = header.width, .height = header.height}};
}

DecodedLabels CodecsDecoder::decode_labels() {
  const ImageHeader& header = state_->header;
  const std::string format(name_of(header.format));
  const auto width = static_cast<std::size_t>(header.width);
  const std::size_t count = width * static_cast<std::size_t>(header.height);
  auto* labels = reinterpret_cast<std::uint16_t*>(state_->labels.reserve(count * 2));
  const DecodedLabels decoded{
      .data = labels, .stride = width, .region = {.width = header.width, .height = header.height}};
  if (header.format == ImageFormat::webp && is_lossy_webp({state_->file})) {
    throw DataError("WebP: a lossy file keeps no labels; store masks as PNG");
  }
  if (header.format == ImageFormat::bmp && detail::is_indexed_bmp(state_->file)) {
    detail::read_indexed_bmp(state_->file, header.width, header.height, labels);
    return decoded;
  }
  const DecodedPixels pixels = decode();
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* rgb = pixels.data + pixels.stride * (i / width) + 4 * (i % width);
    if (rgb[0] != rgb[1] || rgb[0] != rgb[2]) {
      throw DataError(format + ": " + std::string(colours_are_no_labels));
    }
    labels[i] = rgb[0];
  }
  return decoded;
}

}  // namespace headrace::inline v1
