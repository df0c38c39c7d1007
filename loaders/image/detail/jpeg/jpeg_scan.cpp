#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/detail/jpeg/jpeg_scan.h>
#include <headrace/loaders/image/image_header.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace headrace::inline v1::detail {
namespace {

[[noreturn]] void refuse_scan(const std::string& rule) {
  throw DataError("JPEG: a crop index needs a baseline file of one scan: " + rule);
}

int two_bytes(std::span<const std::uint8_t> bytes, std::size_t at) {
  return bytes[at] << 8 | bytes[at + 1];
}

bool is_frame(int marker) {
  return marker >= 0xc0 && marker <= 0xcf && marker != JpegMarker::dht && marker != 0xc8 &&
         marker != 0xcc;
}

/// Markers without a segment. None belongs before a scan, and libjpeg-turbo reads on right behind
/// one: there it could find another image than we do.
bool stands_alone(int marker) {
  return marker == JpegMarker::tem || (marker >= JpegMarker::rst0 && marker <= JpegMarker::eoi);
}

/// The marker at `at` and its segment without marker and length; `at` moves behind it.
struct Segment {
  int marker = 0;
  std::size_t first = 0;  ///< of the contents
  std::span<const std::uint8_t> contents;
};

Segment next_segment(std::span<const std::uint8_t> file, std::size_t& at) {
  while (at + 1 < file.size() && file[at] == 0xff && file[at + 1] == 0xff)
    ++at;
  if (at + 4 > file.size() || file[at] != 0xff || stands_alone(file[at + 1]))
    refuse_scan("the markers are broken");
  const auto length = static_cast<std::size_t>(two_bytes(file, at + 2));
  if (length < 2 || length > file.size() - at - 2) refuse_scan("the markers are broken");
  Segment segment{file[at + 1], at + 4, file.subspan(at + 4, length - 2)};
  at += 2 + length;
  return segment;
}

}  // namespace

void JpegScan::parse(std::span<const std::byte> jpeg) {
  file = {reinterpret_cast<const std::uint8_t*>(jpeg.data()), jpeg.size()};
  components = 0;
  for (auto* tables : {&dc, &ac})
    std::fill(tables->begin(), tables->end(), HuffmanTable());
  if (file.size() < 4 || file[0] != 0xff || file[1] != JpegMarker::soi)
    refuse_scan("it does not begin as a JPEG");
  for (std::size_t at = 2;;) {
    const Segment segment = next_segment(file, at);
    if (segment.marker == JpegMarker::dht) {
      read_tables(segment.contents);
    } else if (segment.marker == JpegMarker::sof0 || segment.marker == JpegMarker::sof1) {
      if (components != 0) refuse_scan("it has two frames");
      read_frame(segment.contents, segment.first);
    } else if (is_frame(segment.marker)) {
      refuse_scan("it is progressive, lossless or arithmetic-coded");
    } else if (segment.marker == JpegMarker::dri) {
      if (segment.contents.size() < 2 || two_bytes(segment.contents, 0) != 0)
        refuse_scan("it has restart markers");
    } else if (segment.marker == JpegMarker::sos) {
      read_scan(segment.contents);
      entropy_first = at;
      return;
    }
  }
}

void JpegScan::read_tables(std::span<const std::uint8_t> segment) {
  while (!segment.empty()) {
    if (segment.size() < 17) refuse_scan("a Huffman table is cut off");
    std::size_t count = 0;
    for (std::size_t i = 1; i <= 16; ++i)
      count += segment[i];
    const std::size_t slot = segment[0] & 15;
    if (slot > 3 || segment[0] >> 4 > 1 || count > 256 || segment.size() < 17 + count)
      refuse_scan("a Huffman table is impossible");
    HuffmanTable& table = (segment[0] >> 4 != 0 ? ac : dc)[slot];
    if (!table.define(segment.subspan(1, 16), segment.subspan(17, count)))
      refuse_scan("a Huffman table is impossible");
    segment = segment.subspan(17 + count);
  }
}

void JpegScan::read_frame(std::span<const std::uint8_t> segment, std::size_t at) {
  if (segment.size() < 6 || segment[0] != 8) refuse_scan("its samples are not of 8 bits");
  frame = at + 1;
  height = two_bytes(segment, 1);
  width = two_bytes(segment, 3);
  components = segment[5];
  if (components < 1 || components > most_components ||
      segment.size() < 6 + 3 * static_cast<std::size_t>(components))
    refuse_scan("it has no components or more than four");
  check_image_size("JPEG", width, height);
  across = down = 1;
  for (std::size_t c = 0; c < static_cast<std::size_t>(components); ++c) {
    ids_[c] = segment[6 + 3 * c];
    h_[c] = segment[7 + 3 * c] >> 4;
    v_[c] = segment[7 + 3 * c] & 15;
    if (h_[c] < 1 || h_[c] > 4 || v_[c] < 1 || v_[c] > 4) refuse_scan("its sampling is impossible");
    across = std::max<int>(across, h_[c]);
    down = std::max<int>(down, v_[c]);
  }
  if (components == 1 && across * down != 1) refuse_scan("one component is sampled oddly");
  coarse_x = coarse_y = false;
  for (std::size_t c = 0; c < static_cast<std::size_t>(components); ++c) {
    coarse_x = coarse_x || h_[c] != across;
    coarse_y = coarse_y || v_[c] != down;
  }
  mcus_x = (width + mcu_width() - 1) / mcu_width();
  mcus_y = (height + mcu_height() - 1) / mcu_height();
}

void JpegScan::read_scan(std::span<const std::uint8_t> segment) {
  const auto count = static_cast<std::size_t>(components);
  if (count == 0) refuse_scan("the scan comes before the frame");
  if (segment.size() != 4 + 2 * count || segment[0] != components)
    refuse_scan("a scan does not hold all components");
  blocks = 0;
  for (std::size_t c = 0; c < count; ++c) {
    if (segment[1 + 2 * c] != ids_[c]) refuse_scan("a scan orders the components anew");
    dc_table[c] = segment[2 + 2 * c] >> 4;
    ac_table[c] = segment[2 + 2 * c] & 15;
    if (dc_table[c] > 3 || ac_table[c] > 3 || !dc[dc_table[c]].defined() ||
        !ac[ac_table[c]].defined())
      refuse_scan("a scan names a table that is not there");
    const int of_component = h_[c] * v_[c];
    if (blocks + of_component > most_blocks) refuse_scan("an MCU has more than ten blocks");
    std::fill_n(component_of.begin() + blocks, of_component, static_cast<std::uint8_t>(c));
    blocks += of_component;
  }
  const std::size_t tail = 1 + 2 * count;
  if (segment[tail] != 0 || segment[tail + 1] != 63 || segment[tail + 2] != 0)
    refuse_scan("a scan holds a part of the coefficients");
}

std::uint8_t* JpegScan::write_markers(std::uint8_t* out, int part_width, int part_height) const {
  *out++ = 0xff;
  *out++ = JpegMarker::soi;
  for (std::size_t at = 2; at < entropy_first;) {
    const std::size_t first = at;
    const Segment segment = next_segment(file, at);
    const bool application =
        segment.marker >= JpegMarker::app0 && segment.marker <= JpegMarker::app15 &&
        segment.marker != JpegMarker::app0 && segment.marker != JpegMarker::app14;
    if (application || segment.marker == JpegMarker::comment) continue;
    const std::size_t length = segment.contents.size() + 4;
    std::memcpy(out, file.data() + segment.first - 4, length);
    if (first <= frame && frame < at) {
      std::uint8_t* sides = out + (frame - (segment.first - 4));
      sides[0] = static_cast<std::uint8_t>(part_height >> 8);
      sides[1] = static_cast<std::uint8_t>(part_height);
      sides[2] = static_cast<std::uint8_t>(part_width >> 8);
      sides[3] = static_cast<std::uint8_t>(part_width);
    }
    out += length;
  }
  return out;
}

namespace {

int next_symbol(const HuffmanTable& table, JpegBitReader& bits) {
  const HuffmanTable::Code code = table.find(bits.peek(16));
  if (code.length == 0) bits_end();
  bits.drop(code.length);
  return code.symbol;
}

/// The 63 other coefficients of a block, read over.
void skip_ac(const HuffmanTable& table, JpegBitReader& bits) {
  for (int k = 1; k < 64; ++k) {
    const int symbol = next_symbol(table, bits);
    const int zeros = symbol >> 4;
    const int category = symbol & 15;
    if (category == 0) {
      if (zeros != 15) return;
      k += 15;
      continue;
    }
    k += zeros;
    bits.drop(category);
  }
}

}  // namespace

void JpegScan::skip_mcu(JpegBitReader& bits, Predictors& before) const {
  for (int b = 0; b < blocks; ++b) {
    const std::size_t c = component_of[static_cast<std::size_t>(b)];
    const int category = next_symbol(dc[dc_table[c]], bits);
    if (category > 11) bits_end();
    before[c] += extend(bits.take(category), category);
    skip_ac(ac[ac_table[c]], bits);
  }
}

}  // namespace headrace::inline v1::detail
