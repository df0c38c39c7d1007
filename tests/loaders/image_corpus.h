#pragma once

#include <headrace/engine/base/random.h>
#include <headrace/tests/loaders/image_files_tiff.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

/// Odd and broken image files, made from a seed: what a folder full of other people's pictures may
/// hold.
namespace headrace::test {

struct OddFile {
  enum class Must : unsigned char {
    show,    ///< give `pixels`
    refuse,  ///< be a DataError
    either,  ///< one of the two, the same whatever was decoded before
  };
  std::string name;
  Bytes bytes;
  Must must = Must::either;
  int width = 0;  ///< as shown
  int height = 0;
  Pixels pixels = {};
};

class OddFiles {
 public:
  void show(std::string name, Bytes bytes, int width, int height, Pixels pixels) {
    files_.push_back(
        {std::move(name), std::move(bytes), OddFile::Must::show, width, height, std::move(pixels)});
  }
  void refuse(std::string name, Bytes bytes) {
    files_.push_back({std::move(name), std::move(bytes), OddFile::Must::refuse});
  }
  void either(std::string name, Bytes bytes) {
    files_.push_back({std::move(name), std::move(bytes), OddFile::Must::either});
  }

  /// The file cut off at `count` places, each a loss that must be noticed.
  void cuts(const std::string& name, const Bytes& file, int count) {
    for (int i = 0; i < count; ++i) {
      const std::size_t size =
          file.size() * static_cast<std::size_t>(i) / static_cast<std::size_t>(count);
      refuse(name + " cut at " + std::to_string(size),
             Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)));
    }
  }
  /// The file with one to three bits turned over.
  void flips(const std::string& name, const Bytes& file, int count, std::uint64_t seed) {
    Random random(RandomKey{.seed = seed});
    for (int i = 0; i < count; ++i) {
      Bytes bad = file;
      for (std::int64_t k = random.below(3); k >= 0; --k) {
        bad[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(bad.size())))] ^=
            static_cast<std::byte>(1 << random.below(8));
      }
      either(name + " with turned bits " + std::to_string(i), std::move(bad));
    }
  }

  const std::vector<OddFile>& files() const { return files_; }

 private:
  std::vector<OddFile> files_;
};

inline Bytes bytes_of(std::string_view text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

inline Bytes from_hex(std::string_view text) {
  Bytes bytes;
  int high = -1;
  for (char c : text) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) continue;
    if (high >= 0) bytes.push_back(static_cast<std::byte>(high * 16 + digit));
    high = high < 0 ? digit : -1;
  }
  return bytes;
}

inline Pixels grey_to_rgb(const Pixels& grey) {
  Pixels rgb;
  for (std::uint8_t v : grey)
    rgb.insert(rgb.end(), 3, v);
  return rgb;
}

/// Where a marker's 0xff stands, before the first scan's data; 0 when there is none.
inline std::size_t marker_at(const Bytes& jpeg, unsigned marker) {
  for (std::size_t at = 2; at + 4 <= jpeg.size();) {
    const auto kind = std::to_integer<unsigned>(jpeg[at + 1]);
    if (kind == marker) return at;
    if (kind == 0xda) return 0;
    at += 2 + (std::to_integer<std::size_t>(jpeg[at + 2]) << 8 |
               std::to_integer<std::size_t>(jpeg[at + 3]));
  }
  return 0;
}

/// The file without its segments of one marker.
inline Bytes without(Bytes jpeg, unsigned marker) {
  while (const std::size_t at = marker_at(jpeg, marker)) {
    const std::size_t length = std::to_integer<std::size_t>(jpeg[at + 2]) << 8 |
                               std::to_integer<std::size_t>(jpeg[at + 3]);
    jpeg.erase(jpeg.begin() + static_cast<std::ptrdiff_t>(at),
               jpeg.begin() + static_cast<std::ptrdiff_t>(at + 2 + length));
  }
  return jpeg;
}

/// The file with bytes from `offset` behind a marker on replaced.
inline Bytes with(Bytes jpeg, unsigned marker, std::size_t offset,
                  std::initializer_list<unsigned> values) {
  std::size_t at = marker_at(jpeg, marker) + offset;
  for (unsigned v : values)
    jpeg[at++] = static_cast<std::byte>(v);
  return jpeg;
}

/// Rows of stored pixels as an orientation shows them.
inline Pixels oriented(const Pixels& stored, int width, int height, int orientation) {
  const bool turned = orientation >= 5;
  const bool x_back = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool y_back = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Pixels out;
  for (int a = 0; a < (turned ? width : height); ++a) {
    for (int b = 0; b < (turned ? height : width); ++b) {
      const int x = turned ? a : b;
      const int y = turned ? b : a;
      const std::uint8_t* from = stored.data() + 3 * ((y_back ? height - 1 - y : y) * width +
                                                      (x_back ? width - 1 - x : x));
      out.insert(out.end(), from, from + 3);
    }
  }
  return out;
}

void add_odd_jpegs(OddFiles& files);
void add_bad_jpegs(OddFiles& files);
void add_pngs(OddFiles& files);
void add_others(OddFiles& files);

/// All of them.
inline std::vector<OddFile> odd_files() {
  OddFiles files;
  add_odd_jpegs(files);
  add_bad_jpegs(files);
  add_pngs(files);
  add_others(files);
  return files.files();
}

}  // namespace headrace::test
