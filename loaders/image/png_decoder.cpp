#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/pixel_buffer.h>
#include <headrace/loaders/image/png_decoder.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <png.h>

namespace headrace::inline v1 {
namespace {

constexpr std::size_t most_pixel_bytes = 8;  // as stored: four channels of 16 bits

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
  detail::PixelBuffer labels;
  std::vector<png_bytep> rows;
  char message[128] = {};
  bool no_memory = false;

  ~State() { close(); }
  void close() { png_destroy_read_struct(&png, &info, nullptr); }

  /// Runs library calls; every local of `work` must be trivially destructible, for errors jump out
  /// of it.
  template <class Work>
  void guarded(Work work) {
    if (setjmp(png_jmpbuf(png)) != 0) {
      close();
      if (no_memory) {
        throw ResourceError("PNG: no memory to decode it; use fewer threads or smaller images");
      }
      throw DataError(std::string("PNG: ") + message);
    }
    work();
  }

  void create();
  void read_header();
  bool interlaced() const { return png_get_interlace_type(png, info) != PNG_INTERLACE_NONE; }
  Region rows_of(const Region& region) const;
  void point_at(const Region& rows, std::uint8_t* out, std::size_t stride);
  void read_rows();
  bool read_labels(const Region& wanted, std::uint8_t* row, std::uint16_t* out);

  static void fail(png_structp png, png_const_charp text) {
    auto* state = static_cast<State*>(png_get_error_ptr(png));
    std::strncpy(state->message, text, sizeof state->message - 1);
    png_longjmp(png, 1);
  }
  static void note(png_structp, png_const_charp) {}
  static png_voidp allocate(png_structp png, png_alloc_size_t bytes) {
    void* memory = std::malloc(bytes);
    if (memory == nullptr) static_cast<State*>(png_get_mem_ptr(png))->no_memory = true;
    return memory;
  }
  static void release(png_structp, png_voidp memory) { std::free(memory); }
  static void read(png_structp png, png_bytep to, std::size_t count) {
    auto* state = static_cast<State*>(png_get_io_ptr(png));
    if (count > state->rest.size()) png_error(png, "the file ends before its image does");
    std::memcpy(to, state->rest.data(), count);
    state->rest = state->rest.subspan(count);
  }
};

void PngDecoder::State::create() {
  no_memory = false;
  png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, this, fail, note, this, allocate, release);
  info = png == nullptr ? nullptr : png_create_info_struct(png);
  if (info == nullptr) {
    close();
    throw ResourceError("PNG: no memory for a decoder");
  }
}

void PngDecoder::State::read_header() {
  png_set_read_fn(png, this, read);
  png_set_user_limits(png, ImageLimits::side, ImageLimits::side);
  png_set_chunk_cache_max(png, 128);
  png_set_chunk_malloc_max(png, 8U << 20);
  png_read_info(png, info);
}

/// The rows that have to be kept for a region: interlaced files come only as a whole.
Region PngDecoder::State::rows_of(const Region& region) const {
  const int width = static_cast<int>(png_get_image_width(png, info));
  const int height = static_cast<int>(png_get_image_height(png, info));
  if (interlaced()) return {.width = width, .height = height};
  return {.y = region.y, .width = width, .height = region.height};
}

/// Where each row from the first on goes; those before `wanted` are overwritten by the next.
void PngDecoder::State::point_at(const Region& wanted, std::uint8_t* out, std::size_t stride) {
  rows.resize(static_cast<std::size_t>(wanted.y + wanted.height));
  for (int y = 0; y < wanted.y + wanted.height; ++y) {
    rows[static_cast<std::size_t>(y)] =
        out + stride * static_cast<std::size_t>(std::max(0, y - wanted.y));
  }
}

/// Under guarded(), after the transformations were set.
void PngDecoder::State::read_rows() {
  const bool whole = interlaced();
  if (whole) png_set_interlace_handling(png);
  png_read_update_info(png, info);
  if (whole) {
    png_read_image(png, rows.data());
  } else {
    png_read_rows(png, rows.data(), nullptr, static_cast<png_uint_32>(rows.size()));
  }
}

/// Takes labels out of rows as they come, of interlaced files those of each pass. False: the
/// channels of a pixel differ. Under guarded().
bool PngDecoder::State::read_labels(const Region& wanted, std::uint8_t* row, std::uint16_t* out) {
  png_set_packing(png);
  const int passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  const int stored = png_get_channels(png, info);
  const bool has_alpha = (png_get_color_type(png, info) & PNG_COLOR_MASK_ALPHA) != 0;
  const int bytes = png_get_bit_depth(png, info) == 16 ? 2 : 1;
  const int value_bytes = bytes * (stored - (has_alpha ? 1 : 0));
  bool same = true;
  for (int pass = 0; pass < passes; ++pass) {
    const int first = passes == 1 ? 0 : PNG_PASS_START_COL(pass);
    const int step = passes == 1 ? 1 : PNG_PASS_COL_OFFSET(pass);
    for (int y = 0; y < wanted.y + wanted.height; ++y) {
      png_read_row(png, row, nullptr);
      if (y < wanted.y || (passes > 1 && !PNG_ROW_IN_INTERLACE_PASS(y, pass))) continue;
      std::uint16_t* to = out + std::ptrdiff_t{y - wanted.y} * wanted.width;
      for (int x = first; x < wanted.width; x += step) {
        const std::uint8_t* value = row + std::ptrdiff_t{x} * bytes * stored;
        to[x] = static_cast<std::uint16_t>(bytes == 1 ? *value : value[0] << 8 | value[1]);
        same = same && std::equal(value + bytes, value + value_bytes, value);
      }
    }
  }
  return same;
}

PngDecoder::PngDecoder() : state_(std::make_unique<State>()) {}
PngDecoder::~PngDecoder() = default;

ImageHeader PngDecoder::open(std::span<const std::byte> file) {
  State& state = *state_;
  state.close();
  state.pixels.trim();
  state.labels.trim();
  state.create();
  state.rest = file;
  state.guarded([&state] { state.read_header(); });
  const ImageHeader header{.format = "PNG",
                           .width = static_cast<int>(png_get_image_width(state.png, state.info)),
                           .height = static_cast<int>(png_get_image_height(state.png, state.info)),
                           .components = png_get_channels(state.png, state.info),
                           .bits = png_get_bit_depth(state.png, state.info)};
  check_image_size(header.format, header.width, header.height);
  if (!has_end(file)) {
    throw DataError("PNG: the file ends before its image does (no end chunk in " +
                    std::to_string(file.size()) + " bytes)");
  }
  // Deflate makes at most 1032 bytes of one.
  const std::size_t row = png_get_rowbytes(state.png, state.info);
  if (row * static_cast<std::size_t>(header.height) / 1032 > file.size()) {
    throw DataError("PNG: " + std::to_string(file.size()) + " bytes cannot hold " +
                    std::to_string(header.width) + " x " + std::to_string(header.height) +
                    " pixels");
  }
  return header;
}

DecodedPixels PngDecoder::decode(const Region& region, bool keeps_alpha) {
  State& state = *state_;
  if (state.png == nullptr) throw DataError("PNG: decode() without an open file");
  const Region rows = state.rows_of(region);
  const std::size_t stride = detail::PixelBuffer::padded(static_cast<std::size_t>(rows.width) * 4);
  std::uint8_t* out = state.pixels.reserve(stride * static_cast<std::size_t>(rows.height));
  state.point_at(rows, out, stride);
  state.guarded([&state, keeps_alpha] {
    png_structp png = state.png;
    png_set_expand(png);
    png_set_scale_16(png);
    if (!keeps_alpha) png_set_strip_alpha(png);
    png_set_gray_to_rgb(png);
    png_set_filler(png, 0xff, PNG_FILLER_AFTER);
    state.read_rows();
  });
  state.close();
  return {.data = out, .stride = stride, .scale = 1, .region = rows};
}

std::size_t PngDecoder::needed_bytes(const Region& region) const {
  const State& state = *state_;
  if (state.png == nullptr) return 0;
  const Region rows = state.rows_of(region);
  const auto count = static_cast<std::size_t>(rows.y + rows.height);
  return detail::PixelBuffer::padded(static_cast<std::size_t>(rows.width) * 4) *
             static_cast<std::size_t>(rows.height) +
         count * sizeof(png_bytep) + most_pixel_bytes * static_cast<std::size_t>(rows.width);
}

bool PngDecoder::has_coloured_alpha() const {
  const State& state = *state_;
  if (state.png == nullptr) return false;
  const int colour = png_get_color_type(state.png, state.info);
  return (colour & PNG_COLOR_MASK_COLOR) != 0 &&
         ((colour & PNG_COLOR_MASK_ALPHA) != 0 ||
          png_get_valid(state.png, state.info, PNG_INFO_tRNS) != 0);
}

bool PngDecoder::keeps_colours() const {
  const State& state = *state_;
  if (state.png == nullptr) return false;
  const int colour = png_get_color_type(state.png, state.info) & ~PNG_COLOR_MASK_ALPHA;
  return colour == PNG_COLOR_TYPE_RGB && png_get_bit_depth(state.png, state.info) == 8;
}

DecodedLabels PngDecoder::decode_labels(const Region& region) {
  State& state = *state_;
  if (state.png == nullptr) throw DataError("PNG: decode_labels() without an open file");
  const Region rows = state.rows_of(region);
  const auto width = static_cast<std::size_t>(rows.width);
  std::uint8_t* row = state.pixels.reserve(most_pixel_bytes * width);
  auto* labels = reinterpret_cast<std::uint16_t*>(
      state.labels.reserve(width * static_cast<std::size_t>(rows.height) * 2));
  bool same = true;
  state.guarded([&] { same = state.read_labels(rows, row, labels); });
  state.close();
  if (!same) throw DataError("PNG: " + std::string(colours_are_no_labels));
  return {.data = labels, .stride = static_cast<std::size_t>(rows.width), .region = rows};
}

}  // namespace headrace::inline v1
