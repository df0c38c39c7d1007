#include <headrace/loaders/image/detail/jpeg/huffman_table.h>
#include <headrace/loaders/image/detail/jpeg/jpeg_scan.h>
#include <headrace/loaders/image/detail/nvjpeg/device_jpeg.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace headrace::inline v1::detail {
namespace {

using Bytes = std::span<const std::uint8_t>;

std::size_t size_at(Bytes bytes, std::size_t at) {
  return std::size_t{bytes[at]} << 8 | bytes[at + 1];
}

std::size_t ceil_div(std::size_t a, std::size_t b) {
  return (a + b - 1) / b;
}

/// Reads one file; every member function answers whether what it read is as it must be.
class Look {
 public:
  explicit Look(Bytes file) : file_(file) {}

  std::size_t length() {
    const bool begins = file_.size() > 4 && file_[0] == 0xff && file_[1] == JpegMarker::soi;
    return begins && segments() && scan() ? at_ : 0;
  }

 private:
  struct Component {
    std::uint8_t id = 0;
    std::uint8_t table = 0;  ///< of quantisation
  };

  /// Up to the scan's header.
  bool segments() {
    at_ = 2;
    for (;;) {
      if (at_ + 4 > file_.size() || file_[at_] != 0xff) return false;
      const std::uint8_t marker = file_[at_ + 1];
      const std::size_t length = size_at(file_, at_ + 2);
      if (length < 2 || length > file_.size() - at_ - 2) return false;
      const Bytes contents = file_.subspan(at_ + 4, length - 2);
      at_ += 2 + length;
      if (marker == JpegMarker::sos) return scan_header(contents);
      if (!segment(marker, contents)) return false;
    }
  }

  bool segment(std::uint8_t marker, Bytes contents) {
    if ((marker >= JpegMarker::app0 && marker <= JpegMarker::app15) ||
        marker == JpegMarker::comment)
      return true;
    switch (marker) {
      case JpegMarker::dqt:
        return quantisation(contents);
      case JpegMarker::dht:
        return huffman(contents);
      case JpegMarker::sof0:
        return frame(contents);
      case JpegMarker::dri:
        if (contents.size() != 2) return false;
        interval_ = size_at(contents, 0);
        return true;
      default:
        return false;
    }
  }

  bool quantisation(Bytes contents) {
    if (contents.empty()) return false;
    for (; !contents.empty(); contents = contents.subspan(65)) {
      if (contents.size() < 65 || contents[0] > 3) return false;
      const Bytes values = contents.subspan(1, 64);
      if (std::ranges::find(values, std::uint8_t{0}) != values.end()) return false;
      quantised_[contents[0]] = true;
    }
    return true;
  }

  bool huffman(Bytes contents) {
    if (contents.empty()) return false;
    while (!contents.empty()) {
      if (contents.size() < 17) return false;
      const unsigned kind = contents[0] >> 4;
      const unsigned slot = contents[0] & 15U;
      std::size_t count = 0;
      std::size_t taken = 0;  // of the codes of 16 bits; that of ones alone is nobody's
      for (std::size_t i = 1; i <= 16; ++i) {
        count += contents[i];
        taken += std::size_t{contents[i]} << (16 - i);
      }
      if (kind > 1 || slot > 1 || count == 0 || count > 256 || taken > 0xffff ||
          contents.size() < 17 + count)
        return false;
      const Bytes symbols = contents.subspan(17, count);
      HuffmanTable table;
      if (!table.define(contents.subspan(1, 16), symbols)) return false;
      if (!std::ranges::all_of(symbols, kind == 0 ? can_be_dc : can_be_ac)) return false;
      coded_[kind][slot] = true;
      contents = contents.subspan(17 + count);
    }
    return true;
  }

  static bool can_be_dc(std::uint8_t symbol) { return symbol <= 11; }
  static bool can_be_ac(std::uint8_t symbol) {
    const int size = symbol & 15;
    return size == 0 ? symbol == 0 || symbol == 0xf0 : size <= 10;
  }

  bool frame(Bytes contents) {
    if (count_ != 0 || contents.size() < 6 || contents[0] != 8) return false;
    const std::size_t height = size_at(contents, 1);
    const std::size_t width = size_at(contents, 3);
    count_ = contents[5];
    if (height == 0 || width == 0 || (count_ != 1 && count_ != 3) ||
        contents.size() != 6 + 3 * count_)
      return false;
    for (std::size_t c = 0; c < count_; ++c) {
      const std::uint8_t sampling = contents[7 + 3 * c];
      components_[c] = {contents[6 + 3 * c], contents[8 + 3 * c]};
      for (std::size_t other = 0; other < c; ++other)
        if (components_[other].id == components_[c].id) return false;
      const bool luma_of_colour = c == 0 && count_ == 3;
      const bool allowed = luma_of_colour ? sampling == 0x11 || sampling == 0x21 ||
                                                sampling == 0x12 || sampling == 0x22
                                          : sampling == 0x11;
      if (!allowed || components_[c].table > 3) return false;
    }
    const std::size_t across = contents[7] >> 4;
    const std::size_t down = contents[7] & 15;
    mcus_ = ceil_div(width, 8 * across) * ceil_div(height, 8 * down);
    blocks_ = mcus_ * (across * down + count_ - 1);
    return true;
  }

  bool scan_header(Bytes contents) const {
    if (count_ == 0 || contents.size() != 4 + 2 * count_ || contents[0] != count_) return false;
    for (std::size_t c = 0; c < count_; ++c) {
      const unsigned dc = contents[2 + 2 * c] >> 4;
      const unsigned ac = contents[2 + 2 * c] & 15U;
      if (contents[1 + 2 * c] != components_[c].id || dc > 1 || ac > 1 || !coded_[0][dc] ||
          !coded_[1][ac] || !quantised_[components_[c].table])
        return false;
    }
    const Bytes spectral = contents.subspan(1 + 2 * count_);
    return spectral[0] == 0 && spectral[1] == 63 && spectral[2] == 0;
  }

  /// The coded data: a block takes two bits at least.
  bool scan() {
    const std::size_t first = at_;
    std::size_t restarts = 0;
    for (;;) {
      const void* found =
          at_ < file_.size() ? std::memchr(file_.data() + at_, 0xff, file_.size() - at_) : nullptr;
      if (found == nullptr) return false;
      at_ = static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - file_.data()) + 2;
      if (at_ > file_.size()) return false;
      const std::uint8_t marker = file_[at_ - 1];
      if (marker == JpegMarker::eoi) break;
      if (marker == 0) continue;
      if (marker != JpegMarker::rst0 + restarts % 8) return false;
      ++restarts;
    }
    const std::size_t wanted = interval_ == 0 ? 0 : ceil_div(mcus_, interval_) - 1;
    return restarts == wanted && (at_ - 2 - first) * 4 >= blocks_;
  }

  Bytes file_;
  std::size_t at_ = 0;
  std::size_t interval_ = 0;  ///< MCUs from one restart marker to the next; 0: there are none
  std::size_t mcus_ = 0;
  std::size_t blocks_ = 0;
  std::size_t count_ = 0;
  std::array<Component, 3> components_{};
  std::array<bool, 4> quantised_{};
  std::array<std::array<bool, 2>, 2> coded_{};
};

}  // namespace

std::size_t device_jpeg_length(std::span<const std::byte> file) {
  return Look({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()}).length();
}

}  // namespace headrace::inline v1::detail
