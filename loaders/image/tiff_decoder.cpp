#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/detail/tiff_file.h>
#include <headrace/loaders/image/pixel_buffer.h>
#include <headrace/loaders/image/tiff_decoder.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <tiff.h>

namespace headrace::inline v1 {
namespace {

std::uint8_t to_byte(unsigned value, int bits) {
  if (bits == 8) return static_cast<std::uint8_t>(value);
  const unsigned most = (1U << bits) - 1;
  return static_cast<std::uint8_t>((value * 255U + most / 2) / most);
}

/// `count` samples, packed from the highest bit on, or of 8 or 16 bits.
void unpack(const std::uint8_t* from, int bits, std::size_t count, std::uint16_t* to) {
  if (bits == 16) {
    std::memcpy(to, from, count * 2);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t bit = i * static_cast<std::size_t>(bits);
    const unsigned shift = 8U - static_cast<unsigned>(bits) - static_cast<unsigned>(bit % 8);
    to[i] = static_cast<std::uint16_t>(from[bit / 8] >> shift & ((1U << bits) - 1));
  }
}

struct TiffColour {
  std::array<std::uint8_t, 3> rgb;
};

/// What a picture's samples look like.
class Colours {
 public:
  void set(const detail::TiffLayout& layout, detail::TiffFile& file) {
    layout_ = layout;
    palette_.clear();
    if (layout.photometric != PHOTOMETRIC_PALETTE) return;
    const std::uint16_t* tables[3] = {};
    file.palette(tables);
    const std::size_t count = std::size_t{1} << layout.bits;
    // Values of 16 bits by the format; some writers left them at 8.
    const bool narrow = std::all_of(tables, tables + 3, [count](const std::uint16_t* table) {
      return std::all_of(table, table + count, [](std::uint16_t v) { return v < 256; });
    });
    for (std::size_t i = 0; i < count; ++i) {
      TiffColour colour{};
      for (std::size_t c = 0; c < 3; ++c)
        colour.rgb[c] = static_cast<std::uint8_t>(narrow ? tables[c][i] : tables[c][i] >> 8);
      palette_.push_back(colour);
    }
  }
  /// Samples of one pixel that matter.
  int needed() const {
    switch (layout_.photometric) {
      case PHOTOMETRIC_SEPARATED:
        return 4;
      case PHOTOMETRIC_RGB:
      case PHOTOMETRIC_YCBCR:
        return 3;
      default:
        return 1;
    }
  }
  TiffColour of(const std::uint16_t* samples) const {
    const auto byte = [&](int i) { return to_byte(samples[i], layout_.bits); };
    switch (layout_.photometric) {
      case PHOTOMETRIC_PALETTE:
        return palette_[samples[0]];
      case PHOTOMETRIC_MINISBLACK:
        return {{byte(0), byte(0), byte(0)}};
      case PHOTOMETRIC_MINISWHITE: {
        const auto grey = static_cast<std::uint8_t>(255 - byte(0));
        return {{grey, grey, grey}};
      }
      case PHOTOMETRIC_SEPARATED: {
        const auto ink = [&](int i) {
          return static_cast<std::uint8_t>(((255U - byte(i)) * (255U - byte(3)) + 127) / 255);
        };
        return {{ink(0), ink(1), ink(2)}};
      }
      default:
        return {{byte(0), byte(1), byte(2)}};
    }
  }

 private:
  detail::TiffLayout layout_;
  std::vector<TiffColour> palette_;
};

}  // namespace

struct TiffDecoder::State {
  detail::TiffFile file;
  detail::TiffLayout layout;
  Colours colours;
  detail::PixelBuffer blocks;
  detail::PixelBuffer pixels;
  detail::PixelBuffer labels;
  std::vector<std::uint16_t> line;

  /// Calls `put(x, y, count, samples)` for every row of every block that meets the rows of
  /// `region`; `samples` holds `needed` values a pixel.
  template <class Put>
  void each_row(const Region& region, const Put& put);
  template <class Put>
  void each_row_of_block(int x, int y, const Region& region, const Put& put);
  const std::uint8_t* block(int sample) const {
    return blocks.data() +
           detail::PixelBuffer::padded(layout.block_bytes) * static_cast<std::size_t>(sample);
  }
};

template <class Put>
void TiffDecoder::State::each_row(const Region& region, const Put& put) {
  const int planes = layout.planes ? colours.needed() : 1;
  const std::size_t bytes = detail::PixelBuffer::padded(layout.block_bytes);
  std::uint8_t* memory = blocks.reserve(bytes * static_cast<std::size_t>(planes));
  const int first_x = region.x / layout.block_width * layout.block_width;
  const int first_y = region.y / layout.block_height * layout.block_height;
  for (int y = first_y; y < region.y + region.height; y += layout.block_height) {
    for (int x = first_x; x < region.x + region.width; x += layout.block_width) {
      for (int plane = 0; plane < planes; ++plane)
        file.read_block(layout, x, y, plane, memory + bytes * static_cast<std::size_t>(plane));
      each_row_of_block(x, y, region, put);
    }
  }
}

template <class Put>
void TiffDecoder::State::each_row_of_block(int x, int y, const Region& region, const Put& put) {
  const int stored = layout.planes ? 1 : layout.samples;
  const int needed = colours.needed();
  const auto width = static_cast<std::size_t>(layout.block_width);
  const std::size_t row_bytes =
      (width * static_cast<std::size_t>(stored) * static_cast<std::size_t>(layout.bits) + 7) / 8;
  const int count = std::min(layout.block_width, layout.width - x);
  const std::size_t raw = static_cast<std::size_t>(count) * static_cast<std::size_t>(stored);
  line.resize(raw + static_cast<std::size_t>(count) * static_cast<std::size_t>(needed));
  std::uint16_t* samples = line.data() + raw;
  const int first = std::max(y, region.y);
  const int last = std::min({y + layout.block_height, region.y + region.height, layout.height});
  for (int row = first; row < last; ++row) {
    const std::size_t offset = row_bytes * static_cast<std::size_t>(row - y);
    for (int plane = 0; plane < (layout.planes ? needed : 1); ++plane) {
      unpack(block(plane) + offset, layout.bits, raw, line.data());
      const int taken = layout.planes ? 1 : needed;
      for (int i = 0; i < count; ++i) {
        for (int c = 0; c < taken; ++c)
          samples[i * needed + plane + c] = line[static_cast<std::size_t>(i * stored + c)];
      }
    }
    put(x, row, count, samples);
  }
}

TiffDecoder::TiffDecoder() : state_(std::make_unique<State>()) {}
TiffDecoder::~TiffDecoder() = default;

ImageHeader TiffDecoder::open(std::span<const std::byte> file) {
  State& state = *state_;
  for (detail::PixelBuffer* buffer : {&state.blocks, &state.pixels, &state.labels})
    buffer->trim();
  state.layout = state.file.open(file);
  state.colours.set(state.layout, state.file);
  return {.format = "TIFF",
          .width = state.layout.width,
          .height = state.layout.height,
          .components = state.colours.needed(),
          .orientation = state.layout.orientation,
          .bits = state.layout.bits};
}

DecodedPixels TiffDecoder::decode(const Region& region) {
  State& state = *state_;
  if (!state.file.is_open()) throw DataError("TIFF: decode() without an open file");
  const Region rows{.y = region.y, .width = state.layout.width, .height = region.height};
  const std::size_t stride = detail::PixelBuffer::padded(static_cast<std::size_t>(rows.width) * 4);
  std::uint8_t* out = state.pixels.reserve(stride * static_cast<std::size_t>(rows.height));
  const int needed = state.colours.needed();
  state.each_row(region, [&](int x, int y, int count, const std::uint16_t* samples) {
    std::uint8_t* to = out + stride * static_cast<std::size_t>(y - rows.y) + std::ptrdiff_t{4} * x;
    for (int i = 0; i < count; ++i, to += 4, samples += needed) {
      const TiffColour colour = state.colours.of(samples);
      std::memcpy(to, colour.rgb.data(), 3);
      to[3] = 255;
    }
  });
  state.file.close();
  return {.data = out, .stride = stride, .scale = 1, .region = rows};
}

std::size_t TiffDecoder::needed_bytes(const Region& region) const {
  const State& state = *state_;
  if (!state.file.is_open()) return 0;
  const auto planes = static_cast<std::size_t>(state.layout.planes ? state.colours.needed() : 1);
  const std::size_t row =
      detail::PixelBuffer::padded(static_cast<std::size_t>(state.layout.width) * 4);
  // libtiff takes a copy of a block as it is stored.
  return detail::PixelBuffer::padded(state.layout.block_bytes) * planes + state.file.size() +
         row * static_cast<std::size_t>(region.height);
}

bool TiffDecoder::keeps_colours() const {
  const detail::TiffLayout& layout = state_->layout;
  return state_->file.is_open() && layout.photometric == PHOTOMETRIC_RGB && layout.bits == 8 &&
         !layout.lossy;
}

DecodedLabels TiffDecoder::decode_labels(const Region& region) {
  State& state = *state_;
  if (!state.file.is_open()) throw DataError("TIFF: decode_labels() without an open file");
  const Region rows{.y = region.y, .width = state.layout.width, .height = region.height};
  const auto stride = static_cast<std::size_t>(rows.width);
  auto* out = reinterpret_cast<std::uint16_t*>(
      state.labels.reserve(stride * static_cast<std::size_t>(rows.height) * 2));
  const int needed = state.colours.needed();
  state.each_row(region, [&](int x, int y, int count, const std::uint16_t* samples) {
    std::uint16_t* to = out + stride * static_cast<std::size_t>(y - rows.y) + x;
    for (int i = 0; i < count; ++i, samples += needed) {
      if (!std::all_of(samples, samples + needed,
                       [&](std::uint16_t v) { return v == samples[0]; })) {
        throw DataError("TIFF: " + std::string(colours_are_no_labels));
      }
      to[i] = samples[0];
    }
  });
  state.file.close();
  return {.data = out, .stride = stride, .region = rows};
}

}  // namespace headrace::inline v1
