#include <headrace/tests/loaders/image_corpus.h>

namespace headrace::test {
namespace {

constexpr int jpeg_width = 72;
constexpr int jpeg_height = 56;

Bytes jpeg(const JpegSpec& spec) {
  return encode_jpeg(spec, picture(spec.width, spec.height, spec.components));
}

Bytes with_end(Bytes file) {
  file.push_back(std::byte{0xff});
  file.push_back(std::byte{0xd9});
  return file;
}

/// A file whose last scan comes `times` times more.
Bytes repeat_scan(Bytes file, int times) {
  std::size_t last = 0;
  for (std::size_t i = 0; i + 1 < file.size(); ++i) {
    if (file[i] == std::byte{0xff} && file[i + 1] == std::byte{0xda}) last = i;
  }
  const Bytes scan(file.begin() + static_cast<std::ptrdiff_t>(last), file.end() - 2);
  file.resize(file.size() - 2);
  for (int i = 0; i < times; ++i)
    file.insert(file.end(), scan.begin(), scan.end());
  return with_end(std::move(file));
}

/// CMYK as the decoder shows it: an Adobe file stores the values inverted.
Pixels ink_to_rgb(const Pixels& cmyk) {
  Pixels rgb;
  for (std::size_t i = 0; i < cmyk.size(); i += 4) {
    for (std::size_t c = 0; c < 3; ++c)
      rgb.push_back(static_cast<std::uint8_t>((cmyk[i + c] * cmyk[i + 3] + 127) / 255));
  }
  return rgb;
}

void add_samplings(OddFiles& files) {
  for (const auto& [h, v] : {std::pair{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}, {1, 4}, {4, 2}}) {
    for (const auto& [w, tall] : {std::pair{72, 56}, {1, 1}, {1, 40}, {61, 1}, {17, 33}, {8, 8}}) {
      const JpegSpec spec{.width = w,
                          .height = tall,
                          .h_samp = h,
                          .v_samp = v,
                          .progressive = w == 17,
                          .restart_rows = w == 72 ? 1 : 0};
      const Bytes file = jpeg(spec);
      files.show("JPEG " + std::to_string(w) + " x " + std::to_string(tall) + " sampled " +
                     std::to_string(h) + " x " + std::to_string(v),
                 file, w, tall, plain_decode(file));
    }
  }
}

void add_orientations(OddFiles& files) {
  const Bytes plain = jpeg({.width = jpeg_width, .height = jpeg_height});
  const Pixels stored = plain_decode(plain);
  for (int o = 1; o <= 8; ++o) {
    for (bool big : {false, true}) {
      files.show("JPEG of orientation " + std::to_string(o) + (big ? " MM" : " II"),
                 with_orientation(plain, o, big), o >= 5 ? jpeg_height : jpeg_width,
                 o >= 5 ? jpeg_width : jpeg_height, oriented(stored, jpeg_width, jpeg_height, o));
    }
  }
  for (int o : {0, 9, 255}) {
    files.show("JPEG of orientation " + std::to_string(o), with_orientation(plain, o), jpeg_width,
               jpeg_height, stored);
  }
  // An EXIF block that points outside itself: a picture with nonsense beside it.
  const Bytes six = with_orientation(plain, 6);
  files.show("JPEG whose EXIF directory lies outside",
             with(six, 0xe1, 14, {0xf0, 0xff, 0xff, 0x7f}), jpeg_width, jpeg_height, stored);
  files.show("JPEG whose EXIF has many entries and few bytes", with(six, 0xe1, 18, {0xff, 0xff}),
             jpeg_height, jpeg_width, oriented(stored, jpeg_width, jpeg_height, 6));
}

/// The file with the length of a segment changed and nothing else.
Bytes with_length(const Bytes& file, unsigned marker, unsigned length) {
  return with(file, marker, 2, {length >> 8, length & 255});
}

void add_lying_headers(OddFiles& files) {
  const Bytes plain = jpeg({.width = jpeg_width, .height = jpeg_height});
  const auto sof = [&](std::size_t offset, std::initializer_list<unsigned> values) {
    return with(plain, 0xc0, offset, values);
  };
  files.refuse("JPEG of 12 bits", sof(4, {12}));
  files.refuse("JPEG of 0 rows", sof(5, {0, 0}));
  files.refuse("JPEG of 0 columns", sof(7, {0, 0}));
  files.refuse("JPEG twice as high as it is", sof(5, {0, 112}));
  files.refuse("JPEG 40 times as wide as it is", sof(7, {11, 64}));
  files.refuse("JPEG of 65278 x 65278 pixels", sof(5, {0xfe, 0xfe, 0xfe, 0xfe}));
  files.refuse("JPEG of 16000 x 16000 pixels in a few kilobytes", sof(5, {62, 128, 62, 128}));
  files.refuse("JPEG of no components", sof(9, {0}));
  files.refuse("JPEG of two components", sof(9, {2}));
  files.refuse("JPEG sampled 0 x 0", sof(11, {0}));
  files.refuse("JPEG sampled 5 x 5", sof(11, {0x55}));
  files.either("JPEG sampled 1 x 1 where it was 2 x 2", sof(11, {0x11}));
  files.either("JPEG sampled 3 x 1 where it was 2 x 2", sof(11, {0x31}));
  files.refuse("JPEG with a quantisation table that is not there", sof(12, {3}));
  files.either("JPEG a row of pixels lower than it is", sof(5, {0, 40}));
  files.refuse("JPEG without quantisation tables", without(plain, 0xdb));
  // The standard's own tables stand in, as in films of JPEGs; these were written by them.
  files.show("JPEG without Huffman tables", without(plain, 0xc4), jpeg_width, jpeg_height,
             plain_decode(plain));
  files.refuse("JPEG without a frame header", without(plain, 0xc0));
  files.refuse("JPEG whose Huffman table is too long", with(plain, 0xc4, 5, {255, 255, 255}));
  files.refuse("JPEG whose segment ends before it begins", with_length(plain, 0xdb, 1));
  files.refuse("JPEG whose segment never ends", with_length(plain, 0xdb, 0xffff));
  files.refuse("JPEG of tables alone", with_end(Bytes(plain.begin(), plain.begin() + 200)));
  Bytes twice = plain;
  const std::size_t at = marker_at(plain, 0xc0);
  twice.insert(twice.begin() + static_cast<std::ptrdiff_t>(at),
               plain.begin() + static_cast<std::ptrdiff_t>(at),
               plain.begin() + static_cast<std::ptrdiff_t>(at) + 19);
  files.refuse("JPEG with two frame headers", twice);
}

}  // namespace

void add_odd_jpegs(OddFiles& files) {
  add_samplings(files);
  add_orientations(files);
  for (bool progressive : {false, true}) {
    const Bytes grey =
        jpeg({.width = 33, .height = 21, .components = 1, .progressive = progressive});
    files.show("grey JPEG", grey, 33, 21, plain_decode(grey));
    for (bool ycck : {false, true}) {
      const Bytes ink = jpeg(
          {.width = 40, .height = 24, .components = 4, .progressive = progressive, .ycck = ycck});
      files.show("CMYK JPEG", ink, 40, 24, ink_to_rgb(plain_decode(ink, JCS_CMYK)));
    }
  }
  const Bytes plain = jpeg({.width = jpeg_width, .height = jpeg_height});
  // Adobe's marker says that the three components are red, green and blue.
  Bytes stored_rgb(plain.begin(), plain.begin() + 2);
  const Bytes adobe = from_hex("ff ee 00 0e 41 64 6f 62 65 00 64 00 00 00 00 00");
  stored_rgb.insert(stored_rgb.end(), adobe.begin(), adobe.end());
  const Bytes bare = without(plain, 0xe0);
  stored_rgb.insert(stored_rgb.end(), bare.begin() + 2, bare.end());
  files.show("JPEG of red, green and blue", stored_rgb, jpeg_width, jpeg_height,
             plain_decode(stored_rgb));
  Bytes trailing = plain;
  trailing.insert(trailing.end(), 1000, std::byte{0x5a});
  files.show("JPEG with other things behind it", trailing, jpeg_width, jpeg_height,
             plain_decode(plain));
}

void add_bad_jpegs(OddFiles& files) {
  const JpegSpec spec{.width = jpeg_width, .height = jpeg_height};
  const Bytes plain = jpeg(spec);
  const Bytes progressive = jpeg({.width = jpeg_width, .height = jpeg_height, .progressive = true});
  const Bytes marked =
      jpeg({.width = jpeg_width, .height = jpeg_height, .h_samp = 1, .restart_rows = 1});
  files.cuts("JPEG", plain, 16);
  files.cuts("progressive JPEG", progressive, 16);
  for (std::size_t part = 3; part < 8; ++part) {
    const auto cut = [&](const Bytes& file) {
      return with_end(
          Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(file.size() * part / 8)));
    };
    files.refuse("JPEG without its last parts, ended " + std::to_string(part), cut(plain));
    files.either("progressive JPEG without its last parts, ended " + std::to_string(part),
                 cut(progressive));
  }
  files.flips("JPEG", plain, 24, 1);
  files.flips("progressive JPEG", progressive, 24, 2);
  files.flips("JPEG with restart markers", marked, 16, 3);
  add_lying_headers(files);
  const Bytes small = jpeg({.width = 24, .height = 16, .components = 1, .progressive = true});
  files.refuse("JPEG of 150 scans", repeat_scan(small, 150));
  files.refuse("JPEG of 100,000 scans", repeat_scan(small, 100'000));
  Bytes lost = marked;  // a restart marker gone
  for (std::size_t i = 2; i + 1 < lost.size(); ++i) {
    if (lost[i] == std::byte{0xff} && lost[i + 1] == std::byte{0xd2}) {
      lost.erase(lost.begin() + static_cast<std::ptrdiff_t>(i),
                 lost.begin() + static_cast<std::ptrdiff_t>(i) + 2);
      break;
    }
  }
  files.refuse("JPEG that lost a restart marker", lost);
}

}  // namespace headrace::test
