#include <headrace/loaders/image/detail/bmp_decoder.h>
#include <headrace/loaders/image/detail/jpeg/jpeg_format.h>
#include <headrace/loaders/image/detail/webp_decoder.h>
#include <headrace/loaders/image/image_formats.h>
#include <headrace/loaders/image/png_decoder.h>
#include <headrace/loaders/image/tiff_decoder.h>

#include <algorithm>

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
    {"JPEG", {".jpg", ".jpeg"}, {"\xff\xd8\xff"sv}, make<detail::JpegFormat>},
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

bool has_image_extension(std::string_view path) {
  const std::string_view name = path.substr(path.find_last_of('/') + 1);
  const std::size_t dot = name.find_last_of('.');
  if (dot == std::string_view::npos || dot == 0) return false;
  std::string extension(name.substr(dot));
  for (char& c : extension) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return std::any_of(std::begin(formats), std::end(formats), [&](const ImageFormat& format) {
    const auto& known = format.extensions;
    return std::find(known.begin(), known.end(), extension) != known.end();
  });
}

}  // namespace headrace::inline v1
