#include <headrace/loaders/image/crop_indexed_jpeg.h>

#include <algorithm>
#include <cstring>

#include <headrace/engine/error.h>
#include <headrace/loaders/image/detail/crop_index.h>
#include <headrace/loaders/image/detail/jpeg_scan.h>
#include <headrace/loaders/image/pixel_buffer.h>

namespace headrace::inline v1 {
namespace {

std::span<const std::uint8_t> as_bytes(std::span<const std::byte> file) {
  return {reinterpret_cast<const std::uint8_t*>(file.data()), file.size()};
}

/// libjpeg's quick Huffman path wants 512 bytes a block of an MCU ahead of it.
constexpr std::size_t read_ahead = 512 * std::size_t{detail::JpegScan::most_blocks};

/// Segments [first, last) of rows [top, bottom).
struct Cover {
  int first = 0;
  int last = 0;
  int top = 0;
  int bottom = 0;
};

}  // namespace

struct CropIndexedJpeg::State {
  std::span<const std::byte> file;
  detail::CropIndex index;
  detail::JpegScan scan;
  bool scanned = false;
  detail::PixelBuffer memory;

  void scan_once();
  Cover cover(const Region& region, int scale) const;
  std::size_t most_bytes(const Cover& cover) const;
  std::uint8_t* join(const Cover& cover, std::uint8_t* out) const;
};

void CropIndexedJpeg::State::scan_once() {
  if (scanned) return;
  scan.parse(file.first(index.jpeg_bytes));
  const bool same = scan.width == static_cast<int>(index.width) &&
                    scan.height == static_cast<int>(index.height) &&
                    scan.components == index.components && scan.mcu_width() == index.mcu_width &&
                    scan.mcu_height() == index.mcu_height &&
                    scan.entropy_first == index.entropy_first;
  if (!same) detail::bits_end();
  scanned = true;
}

// Smooth upsampling looks one sample of the coarsest component to either side.
Cover CropIndexedJpeg::State::cover(const Region& region, int scale) const {
  const int margin_x = scan.coarse_x ? scan.across * scale : 0;
  const int margin_y = scan.coarse_y ? scan.down * scale : 0;
  const int segment = scan.mcu_width() * index.segment_mcus;
  const int right = std::min(scan.width, region.x + region.width + margin_x);
  const int bottom = std::min(scan.height, region.y + region.height + margin_y);
  return {std::max(0, region.x - margin_x) / segment, (right + segment - 1) / segment,
          std::max(0, region.y - margin_y) / scan.mcu_height(),
          (bottom + scan.mcu_height() - 1) / scan.mcu_height()};
}

std::size_t CropIndexedJpeg::State::most_bytes(const Cover& cover) const {
  std::size_t sum = scan.entropy_first + read_ahead + 64;
  for (int row = cover.top; row < cover.bottom; ++row) {
    const detail::BitPlace first = index.at(row, cover.first).place;
    const detail::BitPlace last = index.at(row, cover.last).place;
    const std::size_t past = last.byte + (last.bit > 0 ? 1 : 0);
    if (first.byte > last.byte || past > index.jpeg_bytes - 2) detail::bits_end();
    // Twice: every byte may become an FF with its zero. The rest: DC differences written anew.
    sum += 2 * (past - first.byte) + 128;
  }
  return sum;
}

std::uint8_t* CropIndexedJpeg::State::join(const Cover& cover, std::uint8_t* out) const {
  detail::JpegBitWriter writer(out);
  detail::JpegScan::Predictors written{};
  for (int row = cover.top; row < cover.bottom; ++row) {
    const detail::CropIndex::Entry first = index.at(row, cover.first);
    const detail::CropIndex::Entry last = index.at(row, cover.last);
    detail::JpegBitReader bits(scan.file.data(), first.place, last.place);
    detail::JpegScan::Predictors before = first.before;
    scan.copy_mcu(bits, before, writer, written);
    bits.copy_rest(writer);
    written = last.before;
  }
  return writer.finish();
}

CropIndexedJpeg::CropIndexedJpeg() : state_(std::make_unique<State>()) {}
CropIndexedJpeg::~CropIndexedJpeg() = default;

bool CropIndexedJpeg::recognises(std::span<const std::byte> file) noexcept {
  return detail::CropIndex::recognises(as_bytes(file));
}

ImageHeader CropIndexedJpeg::open(std::span<const std::byte> file) {
  State& state = *state_;
  state.scanned = false;
  state.file = file;
  state.index.read(as_bytes(file));
  return {.format = ImageFormat::jpeg,
          .width = static_cast<int>(state.index.width),
          .height = static_cast<int>(state.index.height),
          .components = state.index.components,
          .orientation = state.index.orientation};
}

std::span<const std::byte> CropIndexedJpeg::jpeg() const noexcept {
  return state_->file.first(state_->index.jpeg_bytes);
}

CropIndexedJpeg::Part CropIndexedJpeg::part(const Region& region, int scale) {
  State& state = *state_;
  state.scan_once();
  const detail::JpegScan& scan = state.scan;
  const Cover cover = state.cover(region, scale);
  Part part;
  const int segment = scan.mcu_width() * state.index.segment_mcus;
  part.x = cover.first * segment;
  part.y = cover.top * scan.mcu_height();
  const int width = std::min(scan.width, cover.last * segment) - part.x;
  const int height = std::min(scan.height, cover.bottom * scan.mcu_height()) - part.y;

  std::uint8_t* first = state.memory.reserve(state.most_bytes(cover));
  std::uint8_t* out = state.join(cover, scan.write_markers(first, width, height));
  constexpr std::uint8_t end[2] = {0xff, 0xd9};
  std::memcpy(out, end, 2);
  std::memset(out + 2, 0, read_ahead);
  std::memcpy(out + 2 + read_ahead, end, 2);
  out += 4 + read_ahead;
  part.jpeg = {reinterpret_cast<const std::byte*>(first), static_cast<std::size_t>(out - first)};
  return part;
}

}  // namespace headrace::inline v1
