#pragma once

#include <headrace/tests/support/picture.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include <jpeglib.h>
#include <png.h>

/// Image files made by the libraries' own writers, so that tests need no data.
namespace headrace::test {

using Bytes = std::vector<std::byte>;

/// The largest difference of two values; pictures of different sizes differ by 256.
inline int farthest(const Pixels& a, const Pixels& b) {
  if (a.size() != b.size()) return 256;
  int most = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

struct JpegSpec {
  int width = 64;
  int height = 48;
  int components = 3;  ///< 1 grey, 3 colour, 4 CMYK
  int h_samp = 2;
  int v_samp = 2;
  int quality = 90;
  bool progressive = false;
  bool ycck = false;
  int restart_rows = 0;
  bool optimized = false;  ///< Huffman tables made for the picture
  const jpeg_scan_info* scans = nullptr;
  int scan_count = 0;
};

inline Bytes encode_jpeg(const JpegSpec& spec, const Pixels& pixels) {
  jpeg_compress_struct info{};
  jpeg_error_mgr error{};
  info.err = jpeg_std_error(&error);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = static_cast<JDIMENSION>(spec.width);
  info.image_height = static_cast<JDIMENSION>(spec.height);
  info.input_components = spec.components;
  info.in_color_space = spec.components == 1   ? JCS_GRAYSCALE
                        : spec.components == 3 ? JCS_RGB
                                               : JCS_CMYK;
  jpeg_set_defaults(&info);
  if (spec.components == 4) jpeg_set_colorspace(&info, spec.ycck ? JCS_YCCK : JCS_CMYK);
  jpeg_set_quality(&info, spec.quality, TRUE);
  if (spec.components == 3) {
    info.comp_info[0].h_samp_factor = spec.h_samp;
    info.comp_info[0].v_samp_factor = spec.v_samp;
  }
  if (spec.progressive) jpeg_simple_progression(&info);
  if (spec.scans != nullptr) {
    info.scan_info = spec.scans;
    info.num_scans = spec.scan_count;
  }
  info.restart_in_rows = spec.restart_rows;
  if (spec.optimized) info.optimize_coding = TRUE;
  jpeg_start_compress(&info, TRUE);
  for (int y = 0; y < spec.height; ++y) {
    JSAMPROW row = const_cast<JSAMPROW>(pixels.data()) +
                   static_cast<std::ptrdiff_t>(y) * spec.width * spec.components;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const auto* first = reinterpret_cast<const std::byte*>(memory);
  Bytes file(first, first + size);
  std::free(memory);
  return file;
}

/// libjpeg-turbo's plain decode with its defaults.
inline Pixels plain_decode(const Bytes& file, J_COLOR_SPACE space = JCS_RGB, int scale = 1) {
  jpeg_decompress_struct info{};
  jpeg_error_mgr error{};
  info.err = jpeg_std_error(&error);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&info, TRUE);
  info.out_color_space = space;
  info.scale_denom = static_cast<unsigned>(scale);
  jpeg_start_decompress(&info);
  const std::size_t row = info.output_width * static_cast<std::size_t>(info.output_components);
  Pixels pixels(row * info.output_height);
  while (info.output_scanline < info.output_height) {
    JSAMPROW to = pixels.data() + row * info.output_scanline;
    jpeg_read_scanlines(&info, &to, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  return pixels;
}

/// The same file with an EXIF block that asks for an orientation.
inline Bytes with_orientation(const Bytes& jpeg, int orientation, bool big_endian = false) {
  const auto number = [&](unsigned v) { return static_cast<unsigned char>(v); };
  const unsigned char o = number(static_cast<unsigned>(orientation));
  const std::vector<unsigned char> little = {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3,
                                             0,   1,   0,  0, 0, o, 0, 0, 0, 0, 0,    0, 0};
  const std::vector<unsigned char> big = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0,
                                          3,   0,   0, 0,  1, 0, o, 0, 0, 0, 0, 0,    0};
  const auto& tiff = big_endian ? big : little;
  std::vector<unsigned char> block = {
      0xff, 0xe1, 0, number(2 + 6 + unsigned(tiff.size())), 'E', 'x', 'i', 'f', 0, 0};
  block.insert(block.end(), tiff.begin(), tiff.end());
  Bytes file(jpeg.begin(), jpeg.begin() + 2);
  for (unsigned char c : block)
    file.push_back(static_cast<std::byte>(c));
  file.insert(file.end(), jpeg.begin() + 2, jpeg.end());
  return file;
}

struct PngSpec {
  int width = 40;
  int height = 30;
  int bits = 8;
  int colour = PNG_COLOR_TYPE_RGB;
  bool interlaced = false;
  std::vector<png_color> palette = {};
  std::vector<png_byte> palette_alpha = {};
  double gamma = 0;  ///< of a gAMA chunk; 0: none
};

/// `rows` as libpng takes them: packed, 16-bit values big end first.
inline Bytes encode_png(const PngSpec& spec, const Pixels& rows, std::size_t row_bytes) {
  Bytes file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  const auto write = [](png_structp p, png_bytep data, std::size_t size) {
    auto* out = static_cast<Bytes*>(png_get_io_ptr(p));
    const auto* first = reinterpret_cast<const std::byte*>(data);
    out->insert(out->end(), first, first + size);
  };
  png_set_write_fn(png, &file, write, [](png_structp) {});
  png_set_IHDR(png, info, static_cast<png_uint_32>(spec.width),
               static_cast<png_uint_32>(spec.height), spec.bits, spec.colour,
               spec.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, 0, 0);
  if (!spec.palette.empty()) {
    png_set_PLTE(png, info, spec.palette.data(), static_cast<int>(spec.palette.size()));
  }
  if (!spec.palette_alpha.empty()) {
    png_set_tRNS(png, info, spec.palette_alpha.data(), static_cast<int>(spec.palette_alpha.size()),
                 nullptr);
  }
  if (spec.gamma > 0) png_set_gAMA(png, info, spec.gamma);
  png_write_info(png, info);
  std::vector<png_bytep> pointers;
  for (int y = 0; y < spec.height; ++y) {
    pointers.push_back(const_cast<png_bytep>(rows.data()) +
                       row_bytes * static_cast<std::size_t>(y));
  }
  png_write_image(png, pointers.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return file;
}

}  // namespace headrace::test
