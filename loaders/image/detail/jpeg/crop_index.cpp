#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/detail/jpeg/crop_index.h>
#include <headrace/loaders/image/image_header.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include <libdeflate.h>

namespace headrace::inline v1::detail {
namespace {

constexpr std::array<std::uint8_t, 8> crop_index_magic = {'h', 'r', 'c', 'r', 'o', 'p', '1', '\n'};

[[noreturn]] void refuse_index(const std::string& rule) {
  throw DataError("JPEG: the crop index is damaged: " + rule);
}

std::uint64_t little(const std::uint8_t* from, int bytes) noexcept {
  std::uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; --i)
    value = value << 8 | from[i];
  return value;
}

void put_little(std::vector<std::uint8_t>& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i, value >>= 8)
    out.push_back(static_cast<std::uint8_t>(value));
}

/// `count` (at most 32) bits from bit `first`, least significant first. At most 8 bytes are read.
std::uint32_t packed(const std::uint8_t* from, std::size_t first, int count) noexcept {
  const std::uint8_t* p = from + first / 8;
  const std::uint64_t value =
      little(p, static_cast<int>(first % 8 + static_cast<std::size_t>(count) + 7) / 8);
  return static_cast<std::uint32_t>(value >> (first % 8) & ((std::uint64_t{1} << count) - 1));
}

/// Appends bits, least significant first.
class PackedBits {
 public:
  explicit PackedBits(std::vector<std::uint8_t>& out) : out_(out) {}
  void put(std::uint32_t value, int count) {
    bits_ |= (value & ((std::uint64_t{1} << count) - 1)) << held_;
    for (held_ += count; held_ >= 8; held_ -= 8, bits_ >>= 8)
      out_.push_back(static_cast<std::uint8_t>(bits_));
  }
  /// The last byte, filled with zeros.
  void finish() {
    if (held_ > 0) out_.push_back(static_cast<std::uint8_t>(bits_));
  }

 private:
  std::vector<std::uint8_t>& out_;
  std::uint64_t bits_ = 0;
  int held_ = 0;
};

CropIndex::Entry entry_at(const JpegBitReader& bits, const JpegScan::Predictors& before) {
  for (const int dc : before) {
    if (dc < -1024 || dc > 1023) refuse_index("a DC value is out of range");
  }
  return {bits.place(), before};
}

/// Reads the coded data once and calls `visit(row, segment, entry)` before each segment and, with
/// the number of segments, behind each row.
template <class Visit>
void each_boundary(const JpegScan& scan, int segment_mcus, const Visit& visit) {
  JpegBitReader bits(scan.file.data(), scan.entropy_first, scan.file.size() - 2);
  JpegScan::Predictors before{};
  for (int y = 0; y < scan.mcus_y; ++y) {
    int segment = 0;
    for (int x = 0; x < scan.mcus_x; ++x) {
      if (x % segment_mcus == 0) visit(y, segment++, entry_at(bits, before));
      scan.skip_mcu(bits, before);
    }
    visit(y, segment, entry_at(bits, before));
  }
}

bool has_end_marker(std::span<const std::uint8_t> jpeg) {
  return jpeg.size() >= 4 && jpeg[jpeg.size() - 2] == 0xff && jpeg[jpeg.size() - 1] == 0xd9;
}

struct Boundaries {
  std::vector<std::size_t> rows;  ///< first byte of each row
  std::vector<CropIndex::Entry> entries;
  std::size_t longest_row = 0;  ///< bits
};

Boundaries find_boundaries(const JpegScan& scan, int segment_mcus) {
  Boundaries found;
  each_boundary(scan, segment_mcus, [&](int, int segment, const CropIndex::Entry& entry) {
    if (segment == 0) found.rows.push_back(entry.place.byte - scan.entropy_first);
    found.entries.push_back(entry);
    const std::size_t bytes = entry.place.byte - scan.entropy_first - found.rows.back();
    found.longest_row =
        std::max(found.longest_row, bytes * 8 + static_cast<std::size_t>(entry.place.bit));
  });
  return found;
}

}  // namespace

CropIndex::Entry CropIndex::at(int row, int segment) const noexcept {
  const auto r = static_cast<std::size_t>(row);
  std::size_t bit =
      (r * static_cast<std::size_t>(segments() + 1) + static_cast<std::size_t>(segment)) *
      static_cast<std::size_t>(entry_bits());
  const std::size_t first = entropy_first + little(rows.data() + 4 * r, 4);
  const std::uint32_t offset = packed(entries.data(), bit, offset_bits);
  Entry entry{{first + offset / 8, static_cast<int>(offset % 8)}};
  bit += offset_bits;
  for (std::size_t c = 0; c < components; ++c, bit += dc_bits) {
    const auto value = static_cast<int>(packed(entries.data(), bit, dc_bits));
    entry.before[c] = value >= 1 << (dc_bits - 1) ? value - (1 << dc_bits) : value;
  }
  return entry;
}

bool CropIndex::recognises(std::span<const std::uint8_t> file) noexcept {
  return file.size() > footer_bytes &&
         std::memcmp(file.data() + file.size() - crop_index_magic.size(), crop_index_magic.data(),
                     crop_index_magic.size()) == 0;
}

void CropIndex::read(std::span<const std::uint8_t> file) {
  if (!recognises(file)) refuse_index("its last bytes are missing");
  const std::uint8_t* footer = file.data() + file.size() - footer_bytes;
  width = static_cast<std::uint32_t>(little(footer, 4));
  height = static_cast<std::uint32_t>(little(footer + 4, 4));
  components = footer[8];
  orientation = footer[9];
  mcu_width = footer[10];
  mcu_height = footer[11];
  segment_mcus = static_cast<std::uint16_t>(little(footer + 12, 2));
  offset_bits = footer[14];
  jpeg_bytes = static_cast<std::uint32_t>(little(footer + 16, 4));
  entropy_first = static_cast<std::uint32_t>(little(footer + 20, 4));
  const auto checksum = static_cast<std::uint32_t>(little(footer + 36, 4));

  check_image_size("JPEG", width, height);
  const auto is_side = [](int side) { return side >= 8 && side <= 32 && side % 8 == 0; };
  if (components < 1 || components > JpegScan::most_components || orientation < 1 ||
      orientation > 8 || !is_side(mcu_width) || !is_side(mcu_height) || segment_mcus == 0 ||
      offset_bits == 0 || offset_bits > most_offset_bits)
    refuse_index("its header is impossible");
  const auto row_count = static_cast<std::size_t>(mcus_y());
  const std::size_t bits =
      row_count * static_cast<std::size_t>(segments() + 1) * static_cast<std::size_t>(entry_bits());
  const std::size_t table = 4 * row_count + (bits + 7) / 8;
  if (jpeg_bytes < 4 || entropy_first >= jpeg_bytes ||
      file.size() != jpeg_bytes + table + footer_bytes)
    refuse_index("its lengths do not add up to the file's");
  const std::uint8_t* first = file.data() + jpeg_bytes;
  if (libdeflate_crc32(0, first, table + 36) != checksum) refuse_index("its checksum is another");
  rows = {first, 4 * row_count};
  entries = {first + 4 * row_count, (bits + 7) / 8};
}

void CropIndex::check(const JpegScan& scan) const {
  if (!has_end_marker(scan.file)) refuse_index("the image has no end marker");
  each_boundary(scan, segment_mcus, [&](int row, int segment, const Entry& entry) {
    const Entry kept = at(row, segment);
    if (kept.place == entry.place && kept.before == entry.before) return;
    refuse_index("row " + std::to_string(row) + ", segment " + std::to_string(segment) +
                 " is not where the image has it");
  });
}

std::vector<std::uint8_t> CropIndex::make(std::span<const std::byte> jpeg, int orientation,
                                          int segment_pixels) {
  JpegScan scan;
  scan.parse(jpeg);
  if (jpeg.size() > 0x7fffffffU || !has_end_marker(scan.file))
    refuse_index("the image has no end marker, or more than 2 GiB");
  const int segment = std::max(1, segment_pixels / scan.mcu_width());
  const Boundaries found = find_boundaries(scan, segment);
  const int offset_bits = std::bit_width(found.longest_row);
  if (offset_bits > most_offset_bits) refuse_index("a row has more than 2^32 bits");

  std::vector<std::uint8_t> out;
  for (const std::size_t row : found.rows)
    put_little(out, row, 4);
  PackedBits packer(out);
  const std::size_t per_row = found.entries.size() / found.rows.size();
  for (std::size_t i = 0; i < found.entries.size(); ++i) {
    const Entry& entry = found.entries[i];
    const std::size_t first = scan.entropy_first + found.rows[i / per_row];
    packer.put(static_cast<std::uint32_t>((entry.place.byte - first) * 8) +
                   static_cast<std::uint32_t>(entry.place.bit),
               offset_bits);
    for (std::size_t c = 0; c < static_cast<std::size_t>(scan.components); ++c)
      packer.put(static_cast<std::uint32_t>(entry.before[c]), dc_bits);
  }
  packer.finish();
  put_little(out, static_cast<std::uint64_t>(scan.width), 4);
  put_little(out, static_cast<std::uint64_t>(scan.height), 4);
  for (const int value : {scan.components, orientation, scan.mcu_width(), scan.mcu_height()})
    out.push_back(static_cast<std::uint8_t>(value));
  put_little(out, static_cast<std::uint64_t>(segment), 2);
  put_little(out, static_cast<std::uint64_t>(offset_bits), 2);
  put_little(out, jpeg.size(), 4);
  put_little(out, scan.entropy_first, 4);
  put_little(out, 0, 12);
  put_little(out, libdeflate_crc32(0, out.data(), out.size()), 4);
  out.insert(out.end(), crop_index_magic.begin(), crop_index_magic.end());
  return out;
}

}  // namespace headrace::inline v1::detail
