#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/image/exif.h>
#include <headrace/loaders/image/jpeg_decoder.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/image_files.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Bytes;
using headrace::test::contains;
using headrace::test::JpegSpec;
using headrace::test::Pixels;

namespace {

Pixels whole_jpeg(const Bytes& file) {
  JpegDecoder& decoder = JpegDecoder::this_thread();
  const ImageHeader header = decoder.open(file);
  Pixels rgb(static_cast<std::size_t>(header.width) * static_cast<std::size_t>(header.height) * 3);
  decoder.decode_whole(rgb.data());
  return rgb;
}

/// Number of values of the crop that differ from the same place of the whole picture at that scale.
int differing(const Bytes& file, const Region& region, int scale, const Pixels& full,
              int full_width) {
  JpegDecoder& decoder = JpegDecoder::this_thread();
  decoder.open(file);
  const DecodedPixels crop = decoder.decode(region, scale);
  int count = 0;
  for (int y = 0; y < crop.region.height; ++y) {
    for (int x = 0; x < crop.region.width; ++x) {
      const std::uint8_t* got = crop.data + crop.stride * static_cast<std::size_t>(y) + 4 * x;
      const std::uint8_t* wanted =
          full.data() + 3 * ((crop.region.y + y) * full_width + crop.region.x + x);
      for (int c = 0; c < 3; ++c)
        count += got[c] != wanted[c];
    }
  }
  return count;
}

std::string jpeg_failure(const Bytes& file) {
  try {
    whole_jpeg(file);
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a whole decode gives the bytes of libjpeg-turbo's plain decode") {
  for (const auto& [h, v] : {std::pair{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}}) {
    for (const auto& [width, height] : {std::pair{64, 48}, {37, 53}, {1, 1}, {131, 17}}) {
      for (bool progressive : {false, true}) {
        CAPTURE(h);
        CAPTURE(v);
        CAPTURE(width);
        CAPTURE(height);
        CAPTURE(progressive);
        const JpegSpec spec{
            .width = width, .height = height, .h_samp = h, .v_samp = v, .progressive = progressive};
        const Bytes file = test::encode_jpeg(spec, test::picture(width, height, 3));
        CHECK(whole_jpeg(file) == test::plain_decode(file));
      }
    }
  }
}

TEST_CASE("grey files become three equal channels") {
  const Bytes file =
      test::encode_jpeg({.width = 33, .height = 21, .components = 1}, test::picture(33, 21, 1));
  CHECK(whole_jpeg(file) == test::plain_decode(file));
  const Pixels rgb = whole_jpeg(file);
  for (std::size_t i = 0; i < rgb.size(); i += 3)
    REQUIRE((rgb[i] == rgb[i + 1] && rgb[i] == rgb[i + 2]));
}

TEST_CASE("CMYK and YCCK files as Adobe writes them become red-green-blue") {
  for (bool ycck : {false, true}) {
    const Bytes file = test::encode_jpeg({.width = 40, .height = 24, .components = 4, .ycck = ycck},
                                         test::picture(40, 24, 4));
    const Pixels cmyk = test::plain_decode(file, JCS_CMYK);
    const Pixels rgb = whole_jpeg(file);
    for (std::size_t i = 0; i < 40 * 24; ++i) {
      for (std::size_t c = 0; c < 3; ++c) {
        // The writer adds an Adobe marker, so the stored values are inverted ink.
        const double wanted = cmyk[4 * i + c] * cmyk[4 * i + 3] / 255.0;
        REQUIRE(std::abs(rgb[3 * i + c] - wanted) <= 0.5 + 1e-9);
      }
    }
  }
}

TEST_CASE("a crop has exactly the pixels of the whole decode at every scale and subsampling") {
  Random random(RandomKey{.seed = 5});
  for (const auto& [h, v] : {std::pair{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}, {4, 2}, {1, 4}}) {
    for (const auto& [progressive, restart_rows] : {std::pair{false, 0}, {false, 2}, {true, 0}}) {
      const int width = 211;
      const int height = 157;
      const JpegSpec spec{.width = width,
                          .height = height,
                          .h_samp = h,
                          .v_samp = v,
                          .progressive = progressive,
                          .restart_rows = restart_rows};
      const Bytes file = test::encode_jpeg(spec, test::picture(width, height, 3));
      for (int scale : {1, 2, 4, 8}) {
        const Pixels full = test::plain_decode(file, JCS_RGB, scale);
        int wrong = 0;
        for (int i = 0; i < 60; ++i) {
          Region region;
          region.width = 1 + static_cast<int>(random.below(width));
          region.height = 1 + static_cast<int>(random.below(height));
          region.x = static_cast<int>(random.below(width - region.width + 1));
          region.y = static_cast<int>(random.below(height - region.height + 1));
          wrong += differing(file, region, scale, full, (width + scale - 1) / scale);
        }
        CAPTURE(h);
        CAPTURE(v);
        CAPTURE(progressive);
        CAPTURE(restart_rows);
        CAPTURE(scale);
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("a file cut off anywhere is refused, whatever part of it is wanted") {
  const JpegSpec spec{.width = 200, .height = 160};
  for (bool progressive : {false, true}) {
    JpegSpec wanted = spec;
    wanted.progressive = progressive;
    const Bytes file = test::encode_jpeg(wanted, test::picture(200, 160, 3));
    for (std::size_t size = 0; size + 1 < file.size(); size += 97) {
      const Bytes cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
      CAPTURE(size);
      CHECK_THROWS_AS(JpegDecoder::this_thread().open(cut), DataError);
    }
    const Bytes almost(file.begin(), file.end() - 1);
    CHECK(contains(jpeg_failure(almost), "ends before its image does"));
  }
}

TEST_CASE("a file whose middle is missing is refused while decoding") {
  const Bytes file = test::encode_jpeg({.width = 200, .height = 160}, test::picture(200, 160, 3));
  Bytes hollow(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(file.size() / 2));
  hollow.insert(hollow.end(), file.end() - 2, file.end());
  CHECK(contains(jpeg_failure(hollow), "JPEG: "));
}

TEST_CASE("a broken file after good ones never shows their pixels") {
  const Pixels bright(200 * 160 * 3, 250);
  const Bytes good = test::encode_jpeg({.width = 200, .height = 160}, bright);
  const Bytes dark = test::encode_jpeg({.width = 200, .height = 160}, Pixels(200 * 160 * 3, 3));
  Random random(RandomKey{.seed = 11});
  for (int i = 0; i < 300; ++i) {
    whole_jpeg(good);
    Bytes bad = dark;
    for (int flips = 0; flips < 3; ++flips) {
      const auto at = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(bad.size())));
      bad[at] ^= static_cast<std::byte>(1 << random.below(8));
    }
    JpegDecoder& decoder = JpegDecoder::this_thread();
    try {
      const ImageHeader header = decoder.open(bad);
      if (header.width != 200 || header.height != 160) continue;
      const DecodedPixels a = decoder.decode({.width = 200, .height = 160}, 1);
      Pixels first(a.data, a.data + a.stride * 159 + 800);
      whole_jpeg(test::encode_jpeg({.width = 200, .height = 160}, Pixels(200 * 160 * 3, 120)));
      decoder.open(bad);
      const DecodedPixels b = decoder.decode({.width = 200, .height = 160}, 1);
      // What was decoded before must not matter.
      REQUIRE(std::equal(first.begin(), first.end(), b.data));
    } catch (const DataError&) {
      continue;
    }
  }
}

TEST_CASE("flipped bits give a picture or a named error, never a crash") {
  const Bytes file = test::encode_jpeg({.width = 90, .height = 70}, test::picture(90, 70, 3));
  Random random(RandomKey{.seed = 3});
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    Bytes bad = file;
    const auto at = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(bad.size())));
    bad[at] ^= static_cast<std::byte>(1 << random.below(8));
    try {
      JpegDecoder& decoder = JpegDecoder::this_thread();
      const ImageHeader header = decoder.open(bad);
      if (header.width > 2000 || header.height > 2000) continue;
      decoder.decode({.width = header.width, .height = header.height}, 1);
    } catch (const DataError& error) {
      REQUIRE(contains(error.what(), "JPEG: "));
      ++refused;
    }
  }
  CHECK(refused > 100);
  CHECK(whole_jpeg(file) == test::plain_decode(file));
}

TEST_CASE("sizes beyond the limits are refused from the header") {
  Bytes file = test::encode_jpeg({.width = 64, .height = 48}, test::picture(64, 48, 3));
  for (std::size_t i = 2; i + 9 < file.size(); ++i) {
    if (file[i] != std::byte{0xff} || file[i + 1] != std::byte{0xc0}) continue;
    for (std::size_t k = 5; k < 9; ++k)
      file[i + k] = std::byte{0xfe};
    break;
  }
  CHECK(contains(jpeg_failure(file), "at most 268435456 pixels, got 65278 x 65278"));
}

TEST_CASE("more than a hundred scans are refused") {
  std::vector<jpeg_scan_info> scans;
  const auto add = [&](int ss, int se, int ah, int al) {
    jpeg_scan_info scan{};
    scan.comps_in_scan = 1;
    scan.Ss = ss;
    scan.Se = se;
    scan.Ah = ah;
    scan.Al = al;
    scans.push_back(scan);
  };
  add(0, 0, 0, 0);
  for (int k = 1; k < 64; ++k)
    add(k, k, 0, 1);
  for (int k = 1; k < 64; ++k)
    add(k, k, 1, 0);
  const Bytes file = test::encode_jpeg({.width = 64,
                                        .height = 48,
                                        .components = 1,
                                        .scans = scans.data(),
                                        .scan_count = static_cast<int>(scans.size())},
                                       test::picture(64, 48, 1));
  CHECK(contains(jpeg_failure(file), "more scans than the limit of 100"));
  scans.clear();
  add(0, 0, 0, 0);
  for (int k = 1; k < 64; ++k)
    add(k, k, 0, 0);
  const Bytes few = test::encode_jpeg(
      {.width = 64, .height = 48, .components = 1, .scans = scans.data(), .scan_count = 64},
      test::picture(64, 48, 1));
  CHECK(whole_jpeg(few) == test::plain_decode(few));
}

TEST_CASE("a hundred thousand repeated scans are refused soon") {
  Bytes file = test::encode_jpeg({.width = 64, .height = 48, .components = 1, .progressive = true},
                                 test::picture(64, 48, 1));
  std::size_t last = 0;
  for (std::size_t i = 0; i + 1 < file.size(); ++i) {
    if (file[i] == std::byte{0xff} && file[i + 1] == std::byte{0xda}) last = i;
  }
  const Bytes scan(file.begin() + static_cast<std::ptrdiff_t>(last), file.end() - 2);
  file.resize(file.size() - 2);
  for (int i = 0; i < 100'000; ++i)
    file.insert(file.end(), scan.begin(), scan.end());
  file.push_back(std::byte{0xff});
  file.push_back(std::byte{0xd9});
  CHECK(contains(jpeg_failure(file), "JPEG: "));
}

TEST_CASE("the EXIF orientation is read in both byte orders and only where it makes sense") {
  const Bytes file = test::encode_jpeg({}, test::picture(64, 48, 3));
  CHECK(exif_orientation(file) == 1);
  for (int o = 1; o <= 8; ++o) {
    CHECK(exif_orientation(test::with_orientation(file, o)) == o);
    CHECK(exif_orientation(test::with_orientation(file, o, true)) == o);
  }
  CHECK(exif_orientation(test::with_orientation(file, 9)) == 1);
  Bytes cut = test::with_orientation(file, 6);
  for (std::size_t size = 0; size < 60; ++size) {
    CHECK(exif_orientation(std::span(cut).first(size)) <= 6);
  }
}
