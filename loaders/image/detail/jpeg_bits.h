#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <headrace/engine/error.h>

namespace headrace::inline v1::detail {

/// A place in entropy-coded JPEG data, as stored: `byte` never names the zero after an FF.
struct BitPlace {
  std::size_t byte = 0;
  int bit = 0;  ///< 0 is the most significant

  friend bool operator==(const BitPlace&, const BitPlace&) = default;
};

inline bool has_ff(std::uint32_t word) noexcept {
  return ((~word - 0x01010101U) & word & 0x80808080U) != 0;
}

[[noreturn]] inline void bits_end() {
  throw DataError("JPEG: the crop index does not fit its image");
}

/// Bits of entropy-coded data (ISO/IEC 10918-1, F.1.2.3: a zero follows each FF), from one place to
/// another. Throws DataError where a marker stands in between or more is asked for than there is.
class JpegBitReader {
 public:
  JpegBitReader(const std::uint8_t* data, const BitPlace& first, const BitPlace& last)
      : data_(data),
        at_(first.byte),
        end_(last.byte + (last.bit > 0 ? 1 : 0)),
        cut_((8 - last.bit) % 8) {
    if (first.bit > 0) drop(first.bit);
  }

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

  /// Gives all bits up to the last place to `writer`.
  template <class Writer>
  void copy_rest(Writer& writer) {
    const int keep = at_ >= end_ ? cut_ : 0;
    if (held_ < keep) bits_end();
    bits_ >>= keep;
    int count = held_ - keep;
    for (; count > 32; writer.put(static_cast<std::uint32_t>(bits_ >> count), 32))
      count -= 32;
    writer.put(static_cast<std::uint32_t>(bits_) & mask(count), count);
    held_ = 0;
    if (at_ >= end_) return;
    copy_bytes(writer);
  }

 private:
  static constexpr std::uint32_t mask(int count) { return count >= 32 ? ~0U : (1U << count) - 1; }

  /// One byte of data; the zero behind an FF is passed over.
  std::uint32_t next_byte() {
    const std::uint32_t byte = data_[at_++];
    if (byte == 0xff && at_ < end_) {
      if (data_[at_] != 0) bits_end();
      ++at_;
    }
    return byte;
  }

  void refill() {
    while (held_ <= 48 && at_ < end_) {
      from_[loaded_++ % from_.size()] = at_;
      bits_ = bits_ << 8 | next_byte();
      held_ += 8;
    }
  }

  template <class Writer>
  void copy_bytes(Writer& writer) {
    while (at_ + 5 < end_) {
      const std::uint8_t* p = data_ + at_;
      const std::uint32_t word = std::uint32_t{p[0]} << 24 | std::uint32_t{p[1]} << 16 |
                                 std::uint32_t{p[2]} << 8 | std::uint32_t{p[3]};
      if (has_ff(word)) {
        writer.put(next_byte(), 8);
        continue;
      }
      writer.put(word, 32);
      at_ += 4;
    }
    while (at_ < end_) {
      const std::uint32_t byte = next_byte();
      if (at_ < end_) {
        writer.put(byte, 8);
      } else {
        writer.put(byte >> cut_, 8 - cut_);
      }
    }
  }

  const std::uint8_t* data_;
  std::size_t at_;   ///< next byte to load
  std::size_t end_;  ///< one past the last byte that holds bits
  int cut_;          ///< bits of that last byte that do not belong
  std::uint64_t bits_ = 0;
  int held_ = 0;  ///< bits loaded and not taken
  std::size_t loaded_ = 0;
  std::array<std::size_t, 8> from_{};  ///< where the last bytes were loaded from
};

/// Writes bits as entropy-coded data. The memory must hold whatever will be written.
class JpegBitWriter {
 public:
  explicit JpegBitWriter(std::uint8_t* out) noexcept : out_(out) {}

  /// The low `count` (0 to 32) bits of `value`; the others are zero.
  void put(std::uint32_t value, int count) noexcept {
    bits_ = bits_ << count | value;
    held_ += count;
    if (held_ < 32) return;
    held_ -= 32;
    const auto word = static_cast<std::uint32_t>(bits_ >> held_);
    if (has_ff(word)) {
      for (int shift = 24; shift >= 0; shift -= 8)
        put_byte(word >> shift);
      return;
    }
    for (int shift = 24; shift >= 0; shift -= 8)
      *out_++ = static_cast<std::uint8_t>(word >> shift);
  }

  /// Fills the last byte with ones. Returns one past the last byte written.
  std::uint8_t* finish() noexcept {
    const int fill = (8 - held_ % 8) % 8;
    bits_ = bits_ << fill | ((1U << fill) - 1);
    for (held_ += fill; held_ > 0; held_ -= 8)
      put_byte(static_cast<std::uint32_t>(bits_ >> (held_ - 8)));
    return out_;
  }

 private:
  void put_byte(std::uint32_t byte) noexcept {
    *out_++ = static_cast<std::uint8_t>(byte);
    if ((byte & 0xff) == 0xff) *out_++ = 0;
  }

  std::uint8_t* out_;
  std::uint64_t bits_ = 0;
  int held_ = 0;
};

}  // namespace headrace::inline v1::detail
