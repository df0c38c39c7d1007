#include <headrace/engine/base/random.h>
#include <headrace/loaders/image/detail/jpeg/jpeg_entropy.h>
#include <headrace/tests/loaders/image_files.h>

#include <cstdint>
#include <optional>
#include <string>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Bytes;
using headrace::test::JpegSpec;
using headrace::test::Pixels;

namespace {

struct EntropyOutcome {
  bool attached = false;
  std::string error;  ///< the library's or ours, warnings among them
  Pixels pixels;
};

/// A decoder of libjpeg-turbo whose entropy decoder is its own, or ours.
class Decoder {
 public:
  Decoder() {
    error_.attach(info_.err);
    jpeg_create_decompress(&info_);
  }
  ~Decoder() { jpeg_destroy_decompress(&info_); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  EntropyOutcome decode(const Bytes& file, bool ours, int scale = 1) {
    EntropyOutcome outcome;
    if (setjmp(error_.jump) != 0) {
      jpeg_abort_decompress(&info_);
      outcome.error = error_.message;
      outcome.pixels.clear();
      return outcome;
    }
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(file.data()), file.size());
    jpeg_read_header(&info_, TRUE);
    info_.scale_denom = static_cast<unsigned>(scale);
    jpeg_start_decompress(&info_);
    if (ours) outcome.attached = entropy_.attach(info_);
    const std::size_t row = info_.output_width * static_cast<std::size_t>(info_.output_components);
    outcome.pixels.resize(row * info_.output_height);
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW to = outcome.pixels.data() + row * info_.output_scanline;
      jpeg_read_scanlines(&info_, &to, 1);
    }
    jpeg_abort_decompress(&info_);
    return outcome;
  }

 private:
  jpeg_decompress_struct info_{};
  detail::JpegError error_{};
  detail::JpegEntropy entropy_;
};

Pixels random_noise(int width, int height, int channels) {
  Random random(RandomKey{.seed = 17});
  Pixels pixels(static_cast<std::size_t>(width * height * channels));
  for (std::uint8_t& v : pixels)
    v = static_cast<std::uint8_t>(random.below(256));
  return pixels;
}

/// Where the entropy-coded data of a file begins.
std::size_t data_of(const Bytes& file) {
  for (std::size_t i = 2;;) {
    const bool last = file[i + 1] == std::byte{0xda};
    i += 2 + (std::to_integer<std::size_t>(file[i + 2]) << 8 |
              std::to_integer<std::size_t>(file[i + 3]));
    if (last) return i;
  }
}

/// Some damage to the entropy-coded data; the end marker stays.
Bytes damaged(const Bytes& file, Random& random) {
  Bytes bad = file;
  const std::size_t first = data_of(file);
  const auto place = [&] {
    return first + static_cast<std::size_t>(
                       random.below(static_cast<std::int64_t>(bad.size() - 2 - first)));
  };
  const auto at = [&](std::size_t i) { return bad.begin() + static_cast<std::ptrdiff_t>(i); };
  switch (random.below(4)) {
    case 0:
      bad[place()] ^= static_cast<std::byte>(1 << random.below(8));
      break;
    case 1:
      bad.erase(at(place()), bad.end() - 2);
      break;
    case 2:
      bad.insert(at(place()), {std::byte{0xff}, static_cast<std::byte>(random.below(256))});
      break;
    default:
      for (int i = 0; i < 4; ++i)
        bad[place()] = static_cast<std::byte>(random.below(256));
      break;
  }
  return bad;
}

}  // namespace

TEST_CASE("coefficients are the library's for every quality, sampling and table") {
  Decoder decoder;
  for (const auto& [h, v] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {4, 2}}) {
    for (int quality : {1, 25, 75, 95, 100}) {
      for (const bool optimized : {false, true}) {
        for (const bool noisy : {false, true}) {
          const JpegSpec spec{.width = 203,
                              .height = 91,
                              .h_samp = h,
                              .v_samp = v,
                              .quality = quality,
                              .optimized = optimized};
          const Bytes file =
              test::encode_jpeg(spec, noisy ? random_noise(203, 91, 3) : test::picture(203, 91, 3));
          for (int scale : {1, 2, 4, 8}) {
            CAPTURE(h);
            CAPTURE(v);
            CAPTURE(quality);
            CAPTURE(optimized);
            CAPTURE(noisy);
            CAPTURE(scale);
            const EntropyOutcome ours = decoder.decode(file, true, scale);
            REQUIRE(ours.attached);
            CHECK(ours.error == "");
            REQUIRE(ours.pixels == decoder.decode(file, false, scale).pixels);
          }
        }
      }
    }
  }
}

TEST_CASE("files of one and of four components, and files longer than what is held of them") {
  Decoder decoder;
  for (const JpegSpec& spec :
       {JpegSpec{.width = 77, .height = 45, .components = 1},
        JpegSpec{.width = 77, .height = 45, .components = 4, .ycck = true},
        JpegSpec{.width = 1200, .height = 700, .h_samp = 1, .v_samp = 1, .quality = 100}}) {
    const Bytes file =
        test::encode_jpeg(spec, random_noise(spec.width, spec.height, spec.components));
    const EntropyOutcome ours = decoder.decode(file, true);
    REQUIRE(ours.attached);
    CHECK(ours.pixels == decoder.decode(file, false).pixels);
  }
}

TEST_CASE("progressive files and files with restart markers stay with the library") {
  Decoder decoder;
  for (const JpegSpec& spec : {JpegSpec{.progressive = true}, JpegSpec{.restart_rows = 1}}) {
    const Bytes file = test::encode_jpeg(spec, test::picture(spec.width, spec.height, 3));
    const EntropyOutcome outcome = decoder.decode(file, true);
    CHECK_FALSE(outcome.attached);
    CHECK(outcome.pixels == test::plain_decode(file));
  }
}

// The library's fast way takes a code that stands for nothing as the end of a block, its slow way
// warns of it.
TEST_CASE("damage is what the library warns of, and what it lets pass has its pixels") {
  Decoder decoder;
  Random random(RandomKey{.seed = 23});
  int refused = 0;
  int only_here = 0;
  int shown = 0;
  for (int quality : {60, 98}) {
    for (const bool noisy : {false, true}) {
      const Bytes file =
          test::encode_jpeg({.width = 120, .height = 90, .quality = quality},
                            noisy ? random_noise(120, 90, 3) : test::picture(120, 90, 3));
      for (int i = 0; i < 1500; ++i) {
        const Bytes bad = damaged(file, random);
        const EntropyOutcome ours = decoder.decode(bad, true);
        const EntropyOutcome plain = decoder.decode(bad, false);
        CAPTURE(i);
        CAPTURE(ours.error);
        if (!plain.error.empty()) {
          REQUIRE(!ours.error.empty());
          ++refused;
        } else if (!ours.error.empty()) {
          REQUIRE(ours.error == "Corrupt JPEG data: bad Huffman code");
          ++only_here;
        } else {
          REQUIRE(ours.pixels == plain.pixels);
          ++shown;
        }
      }
    }
  }
  CHECK(refused > 1000);
  CHECK(shown > 500);
  CHECK(only_here < 500);
}
