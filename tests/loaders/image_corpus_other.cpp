#include <headrace/tests/loaders/image_corpus.h>

#include <zlib.h>

namespace headrace::test {
namespace {

constexpr int lossless_width = 40;
constexpr int lossless_height = 30;

/// The checksum of the chunk that begins at `at`, made right.
void check_chunk(Bytes& png, std::size_t at, std::size_t length) {
  const auto sum = static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const unsigned char*>(png.data()) + at + 4,
            static_cast<unsigned>(length) + 4));
  for (unsigned i = 0; i < 4; ++i)
    png[at + 8 + length + i] = static_cast<std::byte>(sum >> (24 - 8 * i));
}

/// The header of a PNG with some bytes changed and a right checksum again.
Bytes with_header(Bytes png, std::size_t offset, std::initializer_list<unsigned> values) {
  std::size_t at = 16 + offset;
  for (unsigned v : values)
    png[at++] = static_cast<std::byte>(v);
  check_chunk(png, 8, 13);
  return png;
}

/// A palette PNG with the first `count` colours alone, whatever its pixels ask for. The palette
/// follows the header.
Bytes with_palette_of(Bytes png, std::size_t count) {
  constexpr std::size_t at = 33;
  const std::size_t length =
      std::to_integer<std::size_t>(png[at + 2]) << 8 | std::to_integer<std::size_t>(png[at + 3]);
  const auto data = png.begin() + at + 8;
  png.erase(data + static_cast<std::ptrdiff_t>(3 * count),
            data + static_cast<std::ptrdiff_t>(length));
  png[at + 2] = std::byte{0};
  png[at + 3] = static_cast<std::byte>(3 * count);
  check_chunk(png, at, 3 * count);
  return png;
}

std::vector<png_color> palette(int count) {
  std::vector<png_color> colours;
  for (int i = 0; i < count; ++i) {
    colours.push_back({static_cast<png_byte>(i * 37), static_cast<png_byte>(255 - i),
                       static_cast<png_byte>(i * i)});
  }
  return colours;
}

/// Packed values of a few bits, one by one.
Pixels unpacked(const Pixels& rows, int bits) {
  Pixels values;
  for (std::uint8_t byte : rows) {
    for (int shift = 8 - bits; shift >= 0; shift -= bits)
      values.push_back(static_cast<std::uint8_t>(byte >> shift & ((1 << bits) - 1)));
  }
  return values;
}

void add_png_palettes(OddFiles& files) {
  for (int bits : {1, 2, 4, 8}) {
    for (bool interlaced : {false, true}) {
      const int columns = 20 * 8 / bits;
      const Pixels rows = picture(20, lossless_height, 1);
      const Pixels values = unpacked(rows, bits);
      const std::vector<png_color> colours = palette(1 << bits);
      const std::string name = std::to_string(bits) + " bits" + (interlaced ? ", interlaced" : "");
      Pixels looked_up;
      Pixels stretched;
      for (std::uint8_t v : values) {
        looked_up.insert(looked_up.end(), {colours[v].red, colours[v].green, colours[v].blue});
        stretched.insert(stretched.end(), 3,
                         static_cast<std::uint8_t>(v * 255 / ((1 << bits) - 1)));
      }
      PngSpec spec{.width = columns,
                   .height = lossless_height,
                   .bits = bits,
                   .colour = PNG_COLOR_TYPE_GRAY,
                   .interlaced = interlaced};
      files.show("grey PNG of " + name, encode_png(spec, rows, 20), columns, lossless_height,
                 stretched);
      spec.colour = PNG_COLOR_TYPE_PALETTE;
      spec.palette = colours;
      files.show("palette PNG of " + name, encode_png(spec, rows, 20), columns, lossless_height,
                 looked_up);
    }
  }
}

void add_tiff(OddFiles& files, const std::string& name, const TiffSpec& spec, const Pixels& rows,
              const Pixels& shown) {
  files.show("TIFF, " + name, encode_tiff(spec, rows), spec.width, spec.height, shown);
}

void add_tiffs(OddFiles& files) {
  const Pixels pixels = picture(lossless_width, lossless_height, 3);
  const Pixels grey = picture(lossless_width, lossless_height, 1);
  add_tiff(files, "tiles of deflate",
           {.compression = COMPRESSION_ADOBE_DEFLATE, .predictor = 2, .tile = 16}, pixels, pixels);
  add_tiff(files, "strips of LZW in planes", {.compression = COMPRESSION_LZW, .planes = true},
           pixels, pixels);
  add_tiff(files, "big end first", {.big_endian = true}, pixels, pixels);
  add_tiff(files, "64-bit offsets", {.big = true}, pixels, pixels);
  add_tiff(files, "grey", {.samples = 1, .photometric = PHOTOMETRIC_MINISBLACK}, grey,
           grey_to_rgb(grey));
  for (int o = 1; o <= 8; ++o) {
    files.show("TIFF of orientation " + std::to_string(o), encode_tiff({.orientation = o}, pixels),
               o >= 5 ? lossless_height : lossless_width, o >= 5 ? lossless_width : lossless_height,
               oriented(pixels, lossless_width, lossless_height, o));
  }
  const Bytes lzw = encode_tiff({.compression = COMPRESSION_LZW}, pixels);
  const Bytes tiled = encode_tiff({.compression = COMPRESSION_ADOBE_DEFLATE, .tile = 16}, pixels);
  files.cuts("TIFF", lzw, 8);
  files.flips("TIFF", lzw, 12, 6);
  files.flips("tiled TIFF", tiled, 12, 7);
}

}  // namespace

void add_pngs(OddFiles& files) {
  add_png_palettes(files);
  const Pixels pixels = picture(lossless_width, lossless_height, 3);
  const Bytes plain = encode_png({}, pixels, 120);
  const Bytes interlaced = encode_png({.interlaced = true}, pixels, 120);
  files.show("interlaced PNG", interlaced, lossless_width, lossless_height, pixels);
  Bytes trailing = plain;
  trailing.insert(trailing.end(), 100, std::byte{1});
  files.show("PNG with other things behind it", trailing, lossless_width, lossless_height, pixels);
  files.cuts("PNG", plain, 16);
  files.cuts("interlaced PNG", interlaced, 8);
  files.flips("PNG", plain, 16, 4);
  files.flips("interlaced PNG", interlaced, 8, 5);
  files.refuse("PNG of 0 columns", with_header(plain, 0, {0, 0, 0, 0}));
  files.refuse("PNG of 70000 columns", with_header(plain, 0, {0, 1, 0x11, 0x70}));
  files.refuse("PNG of 16000 x 16000 pixels in a few kilobytes",
               with_header(plain, 0, {0, 0, 62, 128, 0, 0, 62, 128}));
  files.refuse("PNG of more rows than it holds", with_header(plain, 4, {0, 0, 0, 60}));
  files.refuse("PNG wider than it is", with_header(plain, 0, {0, 0, 0, 80}));
  files.refuse("PNG of 3 bits", with_header(plain, 8, {3}));
  files.refuse("PNG of an unknown colour type", with_header(plain, 9, {5}));
  files.refuse("PNG of a palette that is not there", with_header(plain, 9, {3}));
  files.refuse("PNG of an unknown compression", with_header(plain, 10, {1}));
  Bytes odd_checksum = plain;
  odd_checksum[30] ^= std::byte{4};
  files.refuse("PNG whose header has a wrong checksum", odd_checksum);
  // Indices beyond the palette.
  files.either("PNG whose palette is short",
               with_palette_of(
                   encode_png({.bits = 4, .colour = PNG_COLOR_TYPE_PALETTE, .palette = palette(16)},
                              picture(20, lossless_height, 1), 20),
                   3));
}

void add_others(OddFiles& files) {
  add_tiffs(files);
  Pixels small;
  for (int y = 0; y < 5; ++y) {
    for (int x = 0; x < 7; ++x) {
      small.insert(small.end(),
                   {static_cast<std::uint8_t>(x * 30), static_cast<std::uint8_t>(y * 50),
                    static_cast<std::uint8_t>(x * y * 9)});
    }
  }
  // Written by libwebp through Pillow 13.0: lossless, then quality 80.
  const Bytes webp = from_hex(
      "524946462e000000574542505650384c220000002f06000100b93244f43f7611d1ff8042b611a0319d3fde8b301e"
      "931013006405da13");
  files.show("lossless WebP", webp, 7, 5, small);
  const Bytes lossy = from_hex(
      "524946465600000057454250565038204a000000d001009d012a0700050001402625b00274010ebac9c90000fefb"
      "2556a8e66ae483213a074847cfc0f051fa4a1370d9a0f3bfb2ccfbaffd5cf807f437fbd9fef0fe0dfff32fc6b300"
      "0000");
  files.cuts("WebP", webp, 4);
  files.flips("WebP", webp, 8, 8);
  files.flips("lossy WebP", lossy, 8, 9);
  files.refuse("empty file", {});
  files.refuse("one byte", bytes_of("\xff"));
  files.refuse("text that is called a picture", bytes_of("This was a picture once.\n"));
  files.refuse("web page of an error", bytes_of("<!DOCTYPE html><html><body>404</body></html>"));
  files.refuse("GIF", bytes_of("GIF89a\x01\x01\x01\x01\x80\x01\x01\xff\xff\xff;"));
  files.refuse("zip archive", bytes_of("PK\x03\x04..................."));
  files.refuse("PDF", bytes_of("%PDF-1.7\n1 0 obj\n"));
  files.refuse("BMP header alone", bytes_of("BM.............."));
  files.refuse("RIFF sound", bytes_of("RIFF....WAVEfmt "));
  files.refuse("start of a JPEG", bytes_of("\xff\xd8\xff"));
  files.refuse("start of a PNG", bytes_of("\x89PNG\r\n\x1a\n"));
  files.refuse("start of a TIFF", from_hex("49492a0008000000"));
  files.refuse("TIFF whose directory is itself", from_hex("49492a00080000000000 08000000"));
}

}  // namespace headrace::test
