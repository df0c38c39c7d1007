#include <headrace/loaders/image/png_decoder.h>

#include <png.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <headrace/engine/error.h>
#include <headrace/loaders/image/pixel_buffer.h>

namespace headrace::inline v1 {
namespace {

bool has_end(std::span<const std::byte> file) {
  constexpr char end[] = {'I', 'E', 'N', 'D'};
  for (std::size_t at = file.size(); at >= sizeof end; --at) {
    if (std::memcmp(file.data() + at - sizeof end, end, sizeof end) == 0) return true;
  }
  return false;
}

}  // namespace

struct PngDecoder::State {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::span<const std::byte> rest;
  detail::PixelBuffer pixels;
  std::vector<png_bytep> rows;
  char message[128] = {};

  ~State() { close(); }
  void close() { png_destroy_read_struct(&png, &info, nullptr); }

  /// Runs library calls; every local of `work` must be trivially destructible, for errors jump out
  /// of it.
  template <class Work>
  void guarded(Work work) {
    if (setjmp(png_jmpbuf(png)) != 0) {
      close();
      throw DataError(std::string("PNG: ") + message);
    }
    work();
  }

  void create();
  void read_header();

  static void fail(png_structp png, png_const_charp text) {
    auto* state = static_cast<State*>(png_get_error_ptr(png));
    std::strncpy(state->message, text, sizeof state->message - 1);
    png_longjmp(png, 1);
  }
  static void note(png_structp, png_const_charp) {}
  static void read(png_structp png, png_bytep to, std::size_t count) {
    auto* state = static_cast<State*>(png_get_io_ptr(png));
    if (count > state->rest.size()) png_error(png, "the file ends before its image does");
    std::memcpy(to, state->rest.data(), count);
    state->rest = state->rest.subspan(count);
  }
};

void PngDecoder::State::create() {
  png = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, fail, note);
  info = png == nullptr ? nullptr : png_create_info_struct(png);
  if (info == nullptr) {
    close();
    throw ResourceError("[decode] PNG: no memory for a decoder");
  }
}

void PngDecoder::State::read_header() {
  png_set_read_fn(png, this, read);
  png_set_user_limits(png, ImageLimits::side, ImageLimits::side);
  png_set_chunk_cache_max(png, 128);
  png_set_chunk_malloc_max(png, 8U << 20);
  png_read_info(png, info);
}

PngDecoder::PngDecoder() : state_(std::make_unique<State>()) {}
PngDecoder::~PngDecoder() = default;

ImageHeader PngDecoder::open(std::span<const std::byte> file) {
  State& state = *state_;
  state.close();
  state.create();
  state.rest = file;
  state.guarded([&state] { state.read_header(); });
  const ImageHeader header{.format = ImageFormat::png,
                           .width = static_cast<int>(png_get_image_width(state.png, state.info)),
                           .height = static_cast<int>(png_get_image_height(state.png, state.info)),
                           .components = png_get_channels(state.png, state.info)};
  check_image_size(header.format, header.width, header.height);
  if (!has_end(file)) {
    throw DataError("PNG: the file ends before its image does (no end chunk in " +
                    std::to_string(file.size()) + " bytes)");
  }
  return header;
}

DecodedPixels PngDecoder::decode(const Region& region) {
  State& state = *state_;
  if (state.png == nullptr) throw DataError("PNG: decode() without an open file");
  const int width = static_cast<int>(png_get_image_width(state.png, state.info));
  const int height = static_cast<int>(png_get_image_height(state.png, state.info));
  const bool interlaced = png_get_interlace_type(state.png, state.info) != PNG_INTERLACE_NONE;
  const int first = interlaced ? 0 : region.y;
  const int last = interlaced ? height : region.y + region.height;
  const std::size_t stride = detail::PixelBuffer::padded(static_cast<std::size_t>(width) * 4);
  std::uint8_t* out = state.pixels.reserve(stride * static_cast<std::size_t>(last - first));
  state.rows.resize(static_cast<std::size_t>(last));
  for (int y = 0; y < last; ++y) {
    state.rows[static_cast<std::size_t>(y)] =
        out + stride * static_cast<std::size_t>(std::max(0, y - first));
  }
  state.guarded([&state, last, interlaced] {
    png_structp png = state.png;
    png_set_expand(png);
    png_set_scale_16(png);
    png_set_strip_alpha(png);
    png_set_gray_to_rgb(png);
    png_set_filler(png, 0xff, PNG_FILLER_AFTER);
    if (interlaced) png_set_interlace_handling(png);
    png_read_update_info(png, state.info);
    if (interlaced) {
      png_read_image(png, state.rows.data());
    } else {
      png_read_rows(png, state.rows.data(), nullptr, static_cast<png_uint_32>(last));
    }
  });
  state.close();
  return {.data = out,
          .stride = stride,
          .scale = 1,
          .region = {.x = 0, .y = first, .width = width, .height = last - first}};
}

}  // namespace headrace::inline v1
