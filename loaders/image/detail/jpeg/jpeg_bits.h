#pragma once

#include <headrace/engine/base/error.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace headrace::inline v1::detail {

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
/// to `end` of `file`. Throws DataError where a marker stands in between or more is asked for than
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

  const std::uint8_t* data_;
  std::size_t at_;  ///< next byte to load
  std::size_t end_;
  std::uint64_t bits_ = 0;
  int held_ = 0;  ///< bits loaded and not taken
  std::size_t loaded_ = 0;
  std::array<std::size_t, 8> from_{};  ///< where the last bytes were loaded from
};

}  // namespace headrace::inline v1::detail
