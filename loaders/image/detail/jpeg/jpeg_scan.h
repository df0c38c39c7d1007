#pragma once

#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/detail/jpeg/huffman_table.h>
#include <headrace/loaders/image/jpeg_row.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace::inline v1::detail {

/// The second byte of a JPEG marker; the first is 0xff.
struct JpegMarker {
  enum : std::uint8_t {
    tem = 0x01,
    sof0 = 0xc0,
    sof1 = 0xc1,
    dht = 0xc4,
    rst0 = 0xd0,
    soi = 0xd8,
    eoi = 0xd9,
    sos = 0xda,
    dqt = 0xdb,
    dri = 0xdd,
    app0 = 0xe0,
    app14 = 0xee,
    app15 = 0xef,
    comment = 0xfe,
  };
};

/// A place in entropy-coded JPEG data, as stored: `byte` never names the zero after an FF.
struct BitPlace {
  std::size_t byte = 0;
  int bit = 0;  ///< 0 is the most significant

  friend bool operator==(const BitPlace&, const BitPlace&) = default;
};

[[noreturn]] inline void bits_end() {
  throw DataError("JPEG: the crop index does not fit its image");
}

/// Bits of entropy-coded data (ISO/IEC 10918-1, F.1.2.3: a zero follows each FF), the bytes `first`
/// to `end` of `file`, or to a marker in between. Throws DataError where more is asked for than
/// there is.
class JpegBitReader {
 public:
  JpegBitReader(const std::uint8_t* file, std::size_t first, std::size_t end)
      : data_(file), at_(first), end_(end) {}

  /// The next `count` (at most 16) bits without taking them; zeros follow the last one.
  std::uint32_t peek(int count) {
    if (held_ < count) refill();
    if (held_ >= count) return static_cast<std::uint32_t>(bits_ >> (held_ - count)) & mask(count);
    return static_cast<std::uint32_t>(bits_ << (count - held_)) & mask(count);
  }
  void drop(int count) {
    if (held_ < count) refill();
    if (held_ < count) bits_end();
    held_ -= count;
  }
  std::uint32_t take(int count) {
    const std::uint32_t value = peek(count);
    drop(count);
    return value;
  }

  /// Where the next bit stands.
  BitPlace place() const noexcept {
    if (held_ == 0) return {at_, 0};
    return {from_[(loaded_ - static_cast<std::size_t>((held_ + 7) / 8)) % from_.size()],
            (8 - held_ % 8) % 8};
  }

 private:
  static constexpr std::uint32_t mask(int count) { return (1U << count) - 1; }

  /// The zero behind an FF is passed over; an FF without one begins a marker.
  void refill() {
    while (held_ <= 48 && at_ < end_) {
      const bool escaped = data_[at_] == 0xff;
      if (escaped && (at_ + 1 == end_ || data_[at_ + 1] != 0)) {
        end_ = at_;
        return;
      }
      from_[loaded_++ % from_.size()] = at_;
      bits_ = bits_ << 8 | data_[at_];
      at_ += escaped ? 2 : 1;
      held_ += 8;
    }
  }

  const std::uint8_t* data_;
  std::size_t at_;   ///< next byte to load
  std::size_t end_;  ///< of the data
  std::uint64_t bits_ = 0;
  int held_ = 0;  ///< bits loaded and not taken
  std::size_t loaded_ = 0;
  std::array<std::size_t, 8> from_{};  ///< where the last bytes were loaded from
};

/// A baseline JPEG with one scan of all its components and no restart markers, as far as its
/// entropy-coded data can be cut without decoding pixels. Holds no memory of its own worth keeping;
/// the file must outlive it.
struct JpegScan {
  static constexpr int most_components = 4;
  static constexpr int most_blocks = 10;  ///< of an MCU

  std::span<const std::uint8_t> file;
  int width = 0;
  int height = 0;
  int components = 0;
  int across = 1;  ///< largest horizontal sampling factor
  int down = 1;    ///< largest vertical sampling factor
  int mcus_x = 0;
  int mcus_y = 0;
  int blocks = 0;                                        ///< of an MCU
  std::array<std::uint8_t, most_blocks> component_of{};  ///< each block's
  std::array<std::uint8_t, most_components> dc_table{};
  std::array<std::uint8_t, most_components> ac_table{};
  std::array<HuffmanTable, 4> dc;
  std::array<HuffmanTable, 4> ac;
  std::size_t frame = 0;          ///< of the height in the frame header
  std::size_t entropy_first = 0;  ///< first byte of entropy-coded data
  bool coarse_x = false;          ///< a component is sampled more coarsely than another, across
  bool coarse_y = false;          ///< likewise, down

  int mcu_width() const noexcept { return 8 * across; }
  int mcu_height() const noexcept { return 8 * down; }

  /// Reads the markers up to the scan. Throws DataError for anything that is not as above.
  void parse(std::span<const std::byte> jpeg);

  /// What a decoder of a part needs of the markers: no application data but JFIF's and Adobe's, no
  /// comments. Appends to `out` and returns one past the last byte; `width` and `height` are the
  /// part's.
  std::uint8_t* write_markers(std::uint8_t* out, int part_width, int part_height) const;

  /// DC values that the next MCU's are differences to.
  using Predictors = JpegRow::Predictors;

  /// Reads one MCU over.
  void skip_mcu(JpegBitReader& bits, Predictors& before) const;

 private:
  void read_tables(std::span<const std::uint8_t> segment);
  void read_frame(std::span<const std::uint8_t> segment, std::size_t at);
  void read_scan(std::span<const std::uint8_t> segment);

  std::array<std::uint8_t, most_components> ids_{};
  std::array<std::uint8_t, most_components> h_{};
  std::array<std::uint8_t, most_components> v_{};
};

}  // namespace headrace::inline v1::detail
