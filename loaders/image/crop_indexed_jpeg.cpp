#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/crop_indexed_jpeg.h>
#include <headrace/loaders/image/detail/jpeg/crop_index.h>
#include <headrace/loaders/image/detail/jpeg/jpeg_scan.h>
#include <headrace/loaders/image/exif.h>

#include <algorithm>
#include <string>
#include <vector>

namespace headrace::inline v1 {
namespace {

std::span<const std::uint8_t> as_bytes(std::span<const std::byte> file) {
  return {reinterpret_cast<const std::uint8_t*>(file.data()), file.size()};
}

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
  std::vector<std::uint8_t> markers;
  std::vector<JpegRow> rows;

  void require_match() const;
  Cover cover(const Region& region, int scale) const;
  JpegRow row(int number, const Cover& cover) const;
};

/// Holds what the index says of its image against the image's own header.
void CropIndexedJpeg::State::require_match() const {
  const bool same = scan.components == index.components && scan.mcu_width() == index.mcu_width &&
                    scan.mcu_height() == index.mcu_height &&
                    scan.entropy_first == index.entropy_first &&
                    exif_orientation(file) == index.orientation;
  if (scan.width == static_cast<int>(index.width) &&
      scan.height == static_cast<int>(index.height) && same) {
    return;
  }
  const auto sides = [](auto width, auto height) {
    return std::to_string(width) + " x " + std::to_string(height);
  };
  throw DataError("JPEG: the crop index must be that of its image, got one of " +
                  sides(index.width, index.height) + " pixels behind an image of " +
                  sides(scan.width, scan.height) +
                  (same ? "" : " that is coded or turned otherwise") + "; pack the image again");
}

// Smooth upsampling looks one sample of the coarsest component to either side, and the library does
// without it where a component has fewer than three samples across.
Cover CropIndexedJpeg::State::cover(const Region& region, int scale) const {
  const int margin_x = scan.coarse_x ? scan.across * scale : 0;
  const int margin_y = scan.coarse_y ? scan.down * scale : 0;
  const int segment = scan.mcu_width() * index.segment_mcus;
  const int right = std::min(scan.width, region.x + region.width + margin_x);
  const int bottom = std::min(scan.height, region.y + region.height + margin_y);
  Cover cover{std::max(0, region.x - margin_x) / segment, (right + segment - 1) / segment,
              std::max(0, region.y - margin_y) / scan.mcu_height(),
              (bottom + scan.mcu_height() - 1) / scan.mcu_height()};
  const auto is_narrow = [&] {
    return std::min(scan.width, cover.last * segment) - cover.first * segment <= 2 * margin_x;
  };
  while (margin_x > 0 && is_narrow() && cover.first > 0)
    --cover.first;
  while (margin_x > 0 && is_narrow() && cover.last * segment < scan.width)
    ++cover.last;
  return cover;
}

JpegRow CropIndexedJpeg::State::row(int number, const Cover& cover) const {
  const detail::CropIndex::Entry first = index.at(number, cover.first);
  const detail::CropIndex::Entry last = index.at(number, cover.last);
  const std::size_t past = last.place.byte + (last.place.bit > 0 ? 1 : 0);
  if (first.place.byte >= past || past > index.jpeg_bytes - 2) detail::bits_end();
  return {.bytes = scan.file.subspan(first.place.byte, past - first.place.byte),
          .first_bit = first.place.bit,
          .unused_bits = (8 - last.place.bit) % 8,
          .before = first.before,
          .after = last.before};
}

CropIndexedJpeg::CropIndexedJpeg() : state_(std::make_unique<State>()) {}
CropIndexedJpeg::~CropIndexedJpeg() = default;

bool CropIndexedJpeg::recognises(std::span<const std::byte> file) noexcept {
  return detail::CropIndex::recognises(as_bytes(file));
}

ImageHeader CropIndexedJpeg::open(std::span<const std::byte> file) {
  State& state = *state_;
  state.file = file;
  state.index.read(as_bytes(file));
  state.scan.parse(jpeg());
  state.require_match();
  return {.format = "JPEG",
          .width = state.scan.width,
          .height = state.scan.height,
          .components = state.scan.components,
          .orientation = state.index.orientation};
}

void CropIndexedJpeg::check() const {
  state_->index.check(state_->scan);
}

std::span<const std::byte> CropIndexedJpeg::jpeg() const noexcept {
  return state_->file.first(state_->index.jpeg_bytes);
}

CropIndexedJpeg::Part CropIndexedJpeg::part(const Region& region, int scale) {
  State& state = *state_;
  const detail::JpegScan& scan = state.scan;
  const Cover cover = state.cover(region, scale);
  Part part;
  const int segment = scan.mcu_width() * state.index.segment_mcus;
  part.x = cover.first * segment;
  part.y = cover.top * scan.mcu_height();
  const int width = std::min(scan.width, cover.last * segment) - part.x;
  const int height = std::min(scan.height, cover.bottom * scan.mcu_height()) - part.y;

  // Markers are copied with the part's sides; an end marker stands in the place of the data.
  state.markers.resize(scan.entropy_first + 2);
  std::uint8_t* end = scan.write_markers(state.markers.data(), width, height);
  end[0] = 0xff;
  end[1] = 0xd9;
  state.rows.clear();
  for (int row = cover.top; row < cover.bottom; ++row)
    state.rows.push_back(state.row(row, cover));
  part.markers = std::as_bytes(std::span(state.markers.data(), end + 2));
  part.rows = state.rows;
  return part;
}

}  // namespace headrace::inline v1
