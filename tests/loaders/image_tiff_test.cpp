#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/image/tiff_decoder.h>
#include <headrace/tests/loaders/image_files_tiff.h>
#include <headrace/tests/loaders/whole_picture.h>

#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Bytes;
using headrace::test::Pixels;
using headrace::test::TiffSpec;

namespace {

Pixels whole_tiff(const Bytes& file) {
  return headrace::test::whole<TiffDecoder>(file);
}

std::vector<std::uint16_t> tiff_labels(const Bytes& file) {
  TiffDecoder decoder;
  const ImageHeader header = decoder.open(file);
  const DecodedLabels labels =
      decoder.decode_labels({.width = header.width, .height = header.height});
  return {labels.data, labels.data + header.width * header.height};
}

std::string tiff_failure(const Bytes& file) {
  try {
    whole_tiff(file);
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

/// 40 x 30 grey pixels and more planes behind them, whose directory comes first, as ImageJ and
/// tifffile write it; then some bytes of another kind.
Bytes plain_tiff(const std::string& description, int planes, std::size_t more = 0) {
  constexpr std::uint32_t plane = 40 * 30;
  const std::string text = description + std::string(200 - description.size(), '\0');
  std::string file("II*\0\x8\0\0\0\xa\0", 10);
  const auto whole = [&](std::uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i)
      file += static_cast<char>(value >> (8 * i));
  };
  const std::uint32_t behind = 10 + 10 * 12 + 4;
  for (const auto& [tag, value] :
       std::initializer_list<std::pair<std::uint32_t, std::uint32_t>>{{256, 40},
                                                                      {257, 30},
                                                                      {258, 8},
                                                                      {259, 1},
                                                                      {262, 1},
                                                                      {270, behind},
                                                                      {273, behind + 200},
                                                                      {277, 1},
                                                                      {278, 30},
                                                                      {279, plane}}) {
    whole(tag, 2);
    whole(tag == 270 ? 2 : 4, 2);  // ASCII, else LONG
    whole(tag == 270 ? 200 : 1, 4);
    whole(value, 4);
  }
  whole(0, 4);
  file += text;
  file.append(plane * static_cast<std::size_t>(planes), 'x');
  file.append(more, 'm');
  const auto* first = reinterpret_cast<const std::byte*>(file.data());
  return {first, first + file.size()};
}

/// Rows of three-channel pixels with a fourth channel put in.
Pixels with_alpha(const Pixels& rgb) {
  Pixels rgba;
  for (std::size_t i = 0; i < rgb.size(); i += 3) {
    rgba.insert(rgba.end(), {rgb[i], rgb[i + 1], rgb[i + 2], static_cast<std::uint8_t>(i)});
  }
  return rgba;
}

}  // namespace

TEST_CASE("bands beyond colours and alpha are refused, none is dropped") {
  const Pixels pixels = test::picture(40, 30, 3);
  const Pixels four = with_alpha(pixels);
  const Pixels two(std::size_t{40} * 30 * 2, 9);
  const auto grey = [&](std::vector<std::uint16_t> extra) {
    return tiff_failure(test::encode_tiff(
        {.samples = 2, .photometric = PHOTOMETRIC_MINISBLACK, .extra = std::move(extra)}, two));
  };
  for (const std::uint16_t alpha : {EXTRASAMPLE_ASSOCALPHA, EXTRASAMPLE_UNASSALPHA}) {
    CHECK(tiff_failure(test::encode_tiff({.samples = 4, .extra = {alpha}}, four)).empty());
    CHECK(grey({alpha}).empty());
  }
  CHECK(tiff_failure(test::encode_tiff({.samples = 4, .extra = {EXTRASAMPLE_UNSPECIFIED}}, four)) ==
        "TIFF: must have no bands beyond 3 of its colours and alpha, got 4; save those that are "
        "wanted, or all as arrays (.npy)");
  CHECK(tiff_failure(test::encode_tiff({.samples = 4, .extra = {}}, four)) != "");
  CHECK(grey({EXTRASAMPLE_UNSPECIFIED}) != "");
  const Pixels five(std::size_t{40} * 30 * 5, 9);
  const Bytes more = test::encode_tiff(
      {.samples = 5, .extra = {EXTRASAMPLE_UNASSALPHA, EXTRASAMPLE_UNSPECIFIED}}, five);
  CHECK(tiff_failure(more) != "");
}

TEST_CASE("a picture of several pages is refused, its smaller copies and masks are not") {
  const Pixels pixels = test::picture(40, 30, 3);
  CHECK(tiff_failure(test::encode_tiff({.depth = 2}, pixels)) ==
        "TIFF: a picture must have one slice, got more; save each slice as a file");
  for (const int tile : {0, 16}) {
    CHECK(
        tiff_failure(test::encode_tiff({.tile = tile, .pages = 3}, pixels)) ==
        "TIFF: a picture must have one page, got more; save each page as a file, or learn from it "
        "as a volume");
    const TiffSpec page{.tile = tile, .pages = 2, .further = FILETYPE_PAGE};
    CHECK(tiff_failure(test::encode_tiff(page, pixels)) != "");
    const TiffSpec masks{.tile = tile, .pages = 4, .further = FILETYPE_MASK};
    CHECK(whole_tiff(test::encode_tiff(masks, pixels)) == pixels);
  }
}

TEST_CASE("planes behind that of the one directory are refused, told of or not") {
  const auto failure = [](const std::string& description, int planes) {
    return tiff_failure(plain_tiff(description, planes));
  };
  const std::string stack = "ImageJ=1.53t\nimages=5\nslices=5\nloop=false\n";
  for (const std::string& told :
       {stack, std::string("ImageJ=1.11a\nimages=99999999999\n"),
        std::string(R"({"shape": [5, 30, 40], "truncated":true})"), std::string("my stack")}) {
    CAPTURE(told);
    CHECK(failure(told, 5).starts_with("TIFF: a picture must have one page, got more"));
    CHECK(failure(told, 1).empty());  // a slice that kept its stack's description
  }
  CHECK(tiff_failure(plain_tiff(stack, 5, 100)) != "");
  CHECK(tiff_failure(plain_tiff("my stack", 1, 5000)).empty());  // metadata of some program
}

TEST_CASE("only what is smaller than its picture is a smaller copy of it") {
  const auto failure = [](std::uint32_t further, int grow) {
    const TiffSpec spec{.height = 30, .pages = 2, .grow = grow, .further = further};
    return tiff_failure(test::encode_tiff(spec, test::picture(40, 40, 3)));
  };
  for (const int grow : {0, 8})
    CHECK(failure(FILETYPE_REDUCEDIMAGE, grow)
              .starts_with("TIFF: a picture must have one page, got more"));
  CHECK(failure(FILETYPE_REDUCEDIMAGE, -8).empty());
  CHECK(failure(FILETYPE_MASK, 0).empty());
  CHECK(failure(FILETYPE_MASK, 8) != "");
}

TEST_CASE("colour TIFF files come back as written, whatever their blocks and compression") {
  const Pixels pixels = test::picture(40, 30, 3);
  for (int compression : {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE,
                          COMPRESSION_PACKBITS, COMPRESSION_DEFLATE}) {
    for (int tile : {0, 16}) {
      for (bool planes : {false, true}) {
        for (int predictor : {1, 2}) {
          const bool predicts =
              compression == COMPRESSION_LZW || compression == COMPRESSION_ADOBE_DEFLATE;
          if (predictor == 2 && !predicts) continue;
          CAPTURE(compression);
          CAPTURE(tile);
          CAPTURE(planes);
          const TiffSpec spec{
              .compression = compression, .predictor = predictor, .tile = tile, .planes = planes};
          CHECK(whole_tiff(test::encode_tiff(spec, pixels)) == pixels);
        }
      }
    }
  }
  CHECK(whole_tiff(test::encode_tiff({.big_endian = true}, pixels)) == pixels);
  CHECK(whole_tiff(test::encode_tiff({.big = true}, pixels)) == pixels);
  CHECK(whole_tiff(test::encode_tiff({.samples = 4}, with_alpha(pixels))) == pixels);
}

TEST_CASE("JPEG inside a TIFF is coloured as it was written, in luma and chroma or not") {
  Pixels pixels;
  for (int i = 0; i < 40 * 30; ++i)
    pixels.insert(pixels.end(), {200, 100, 50});
  for (const int photometric : {PHOTOMETRIC_YCBCR, PHOTOMETRIC_RGB}) {
    CAPTURE(photometric);
    const Pixels read = whole_tiff(test::encode_tiff(
        {.photometric = photometric, .compression = COMPRESSION_JPEG, .rows_per_strip = 16},
        pixels));
    REQUIRE(read.size() == pixels.size());
    for (std::size_t i = 0; i < read.size(); ++i)
      REQUIRE(std::abs(int{read[i]} - int{pixels[i]}) <= 3);
  }
}

TEST_CASE("16 bits, grey, inverted grey and palettes become 8-bit colour") {
  const Pixels deep = test::picture(80, 30, 1);  // 40 x 30 values of two bytes
  for (bool big : {false, true}) {
    const Pixels shallow = whole_tiff(test::encode_tiff({.bits = 16,
                                                         .samples = 1,
                                                         .photometric = PHOTOMETRIC_MINISBLACK,
                                                         .compression = COMPRESSION_LZW,
                                                         .predictor = 2,
                                                         .big_endian = big},
                                                        deep));
    for (std::size_t i = 0; i < 1200; ++i) {
      const unsigned value = deep[2 * i] * 256U + deep[2 * i + 1];
      REQUIRE(shallow[3 * i] == (value * 255U + 32767U) / 65535U);
    }
  }
  const Pixels grey = test::picture(40, 30, 1);
  const Pixels white =
      whole_tiff(test::encode_tiff({.samples = 1, .photometric = PHOTOMETRIC_MINISWHITE}, grey));
  for (std::size_t i = 0; i < 3600; ++i)
    REQUIRE(white[i] == 255 - grey[i / 3]);

  TiffSpec indexed{.bits = 4, .samples = 1, .photometric = PHOTOMETRIC_PALETTE};
  for (unsigned i = 0; i < 48; ++i)
    indexed.palette.push_back(static_cast<std::uint16_t>(i * 1361));
  const Pixels rows = test::picture(20, 30, 1);
  const Pixels coloured = whole_tiff(test::encode_tiff(indexed, rows));
  for (std::size_t i = 0; i < 1200; ++i) {
    const unsigned byte = rows[i / 40 * 20 + i % 40 / 2];
    const unsigned index = i % 2 == 0 ? byte >> 4 : byte & 15;
    for (std::size_t c = 0; c < 3; ++c)
      REQUIRE(coloured[3 * i + c] == indexed.palette[index + 16 * c] >> 8);
  }
}

TEST_CASE("one bit a pixel is black and white, also as a fax keeps it") {
  const Pixels rows = test::picture(5, 30, 1);  // 40 pixels of one bit
  for (int compression : {COMPRESSION_NONE, COMPRESSION_CCITTFAX4}) {
    const Bytes file = test::encode_tiff({.bits = 1,
                                          .samples = 1,
                                          .photometric = PHOTOMETRIC_MINISBLACK,
                                          .compression = compression},
                                         rows);
    const Pixels rgb = whole_tiff(file);
    const auto labels = tiff_labels(file);
    for (std::size_t i = 0; i < 1200; ++i) {
      const unsigned bit = rows[i / 8] >> (7 - i % 8) & 1U;
      REQUIRE(rgb[3 * i] == 255 * bit);
      REQUIRE(labels[i] == bit);
    }
  }
}

TEST_CASE("labels keep their stored values: 16 bits, palettes, equal channels") {
  const Pixels deep = test::picture(80, 30, 1);
  const auto labels = tiff_labels(
      test::encode_tiff({.bits = 16, .samples = 1, .photometric = PHOTOMETRIC_MINISBLACK}, deep));
  for (std::size_t i = 0; i < 1200; ++i)
    REQUIRE(labels[i] == deep[2 * i] * 256U + deep[2 * i + 1]);
  TiffSpec indexed{.samples = 1, .photometric = PHOTOMETRIC_PALETTE};
  indexed.palette.assign(768, 1000);
  const Pixels grey = test::picture(40, 30, 1);
  const auto indices = tiff_labels(test::encode_tiff(indexed, grey));
  CHECK(std::equal(indices.begin(), indices.end(), grey.begin()));
  Pixels equal;
  for (std::uint8_t v : grey)
    equal.insert(equal.end(), 3, v);
  const auto folded = tiff_labels(test::encode_tiff({}, equal));
  CHECK(std::equal(folded.begin(), folded.end(), grey.begin()));
  equal[100] ^= 1;
  CHECK_THROWS_AS(tiff_labels(test::encode_tiff({}, equal)), DataError);
}

TEST_CASE("only the blocks of a region are decoded, and they are the right ones") {
  const Pixels pixels = test::picture(40, 30, 3);
  for (int tile : {0, 16}) {
    Bytes file = test::encode_tiff({.tile = tile}, pixels);
    TiffDecoder decoder;
    decoder.open(file);
    const DecodedPixels part = decoder.decode({.x = 18, .y = 17, .width = 5, .height = 7});
    CHECK(part.region == Region{.x = 0, .y = 17, .width = 40, .height = 7});
    for (int y = 0; y < 7; ++y) {
      for (int x = 18; x < 23; ++x) {
        for (int c = 0; c < 3; ++c) {
          REQUIRE(part.data[part.stride * static_cast<std::size_t>(y) +
                            static_cast<std::size_t>(4 * x + c)] ==
                  pixels[static_cast<std::size_t>(((17 + y) * 40 + x) * 3 + c)]);
        }
      }
    }
  }
}

TEST_CASE("kinds of TIFF that make no 8-bit picture are refused by name") {
  const Pixels rows(40 * 30 * 4, 1);
  CHECK(tiff_failure(test::encode_tiff(
                         {.bits = 32, .samples = 1, .photometric = PHOTOMETRIC_MINISBLACK}, rows))
            .find("TIFF: must be grey, palette, RGB or CMYK of 1 to 16 bits") == 0);
  CHECK(tiff_failure(test::encode_tiff({.samples = 3, .photometric = PHOTOMETRIC_CIELAB}, rows)) !=
        "");
  CHECK(tiff_failure(test::encode_tiff({.compression = COMPRESSION_LZMA}, rows))
            .find("compression 34925 is not supported") != std::string::npos);
  CHECK(tiff_failure(test::encode_tiff({.bits = 32,
                                        .format = SAMPLEFORMAT_IEEEFP,
                                        .samples = 1,
                                        .photometric = PHOTOMETRIC_MINISBLACK},
                                       rows))
            .find("samples must be unsigned integers, got sample format 3") != std::string::npos);
  CHECK(tiff_failure(
            test::encode_tiff(
                {.width = 70'000, .height = 1, .samples = 1, .photometric = PHOTOMETRIC_MINISBLACK},
                Pixels(70'000, 1)))
            .find("TIFF: sides must be 1 to 65536") == 0);
}

TEST_CASE("TIFF files that are cut off, altered or beyond the limits are refused or right") {
  const Pixels pixels = test::picture(40, 30, 3);
  for (int tile : {0, 16}) {
    const Bytes file = test::encode_tiff({.compression = COMPRESSION_LZW, .tile = tile}, pixels);
    // The directory stands at the end, so every cut loses it.
    for (std::size_t size = 0; size < file.size(); size += 31) {
      CHECK_THROWS_AS(
          whole_tiff(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size))),
          DataError);
    }
    Random random(RandomKey{.seed = 2});
    for (int i = 0; i < 1000; ++i) {
      Bytes bad = file;
      bad[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(bad.size())))] ^=
          static_cast<std::byte>(1 << random.below(8));
      const std::string message = tiff_failure(bad);
      REQUIRE(
          (message.empty() || message.find("TIFF: ") == 0 || message.find("image must be") == 0));
    }
  }
}

TEST_CASE("a strip that says more than the file holds is refused before memory is taken") {
  Bytes file = test::encode_tiff({.samples = 1, .photometric = PHOTOMETRIC_MINISBLACK, .tile = 16},
                                 test::picture(40, 30, 1));
  // Tile sides of 32768 in the directory's place of 16.
  int changed = 0;
  for (std::size_t i = 0; i + 12 <= file.size(); ++i) {
    const auto tag = std::to_integer<unsigned>(file[i]) | std::to_integer<unsigned>(file[i + 1])
                                                              << 8;
    if ((tag == 322 || tag == 323) && file[i + 8] == std::byte{16} && file[i + 9] == std::byte{0}) {
      file[i + 8] = std::byte{0};
      file[i + 9] = std::byte{0x80};
      ++changed;
    }
  }
  REQUIRE(changed == 2);
  CHECK(
      tiff_failure(file).find("strips or tiles of 32768 x 32768 pixels in a picture of 40 x 30") !=
      std::string::npos);
}

TEST_CASE("libtiff's handlers stay those of the process, and hear nothing of our files") {
  static int calls = 0;
  const auto count = [](const char*, const char*, va_list) { ++calls; };
  const TIFFErrorHandler error_before = TIFFSetErrorHandler(count);
  const TIFFErrorHandler warning_before = TIFFSetWarningHandler(count);
  calls = 0;
  const Bytes file = test::encode_tiff({.compression = COMPRESSION_LZW}, test::picture(40, 30, 3));
  Bytes broken = file;
  for (std::size_t i = 20; i < 200; ++i)
    broken[i] = std::byte{0x5a};
  const int while_writing = calls;
  CHECK(tiff_failure(broken).find("TIFF: broken or cut-off data (") == 0);
  CHECK(tiff_failure(Bytes(file.begin(), file.begin() + 100)).find("TIFF: broken header") == 0);
  CHECK(calls == while_writing);
  const bool errors_kept = TIFFSetErrorHandler(error_before) == +count;
  const bool warnings_kept = TIFFSetWarningHandler(warning_before) == +count;
  CHECK(errors_kept);
  CHECK(warnings_kept);
}
