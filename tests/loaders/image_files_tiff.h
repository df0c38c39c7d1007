#pragma once

#include <headrace/tests/loaders/image_files.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <tiffio.h>

namespace headrace::test {

struct TiffSpec {
  int width = 40;
  int height = 30;
  int bits = 8;
  int format = SAMPLEFORMAT_UINT;
  int samples = 3;
  int photometric = PHOTOMETRIC_RGB;
  int compression = COMPRESSION_NONE;
  int predictor = 1;
  int rows_per_strip = 7;
  int tile = 0;  ///< side of the tiles; 0: strips
  bool planes = false;
  bool big_endian = false;
  bool big = false;  ///< BigTIFF
  int orientation = 1;
  std::vector<std::uint16_t> extra = {EXTRASAMPLE_UNASSALPHA};  ///< of samples beyond the colours
  int pages = 1;
  int grow = 0;                             ///< rows of the further pages that the first has not
  int depth = 1;                            ///< ImageDepth
  std::uint32_t further = 0;                ///< what the pages behind the first are
  std::vector<std::uint16_t> palette = {};  ///< red values, then green, then blue
};

namespace tiff_parts {

struct TiffMemory {
  std::vector<std::uint8_t> bytes;
  std::size_t place = 0;
};

inline tmsize_t tiff_read(thandle_t handle, void* to, tmsize_t count) {
  auto* memory = static_cast<TiffMemory*>(handle);
  const std::size_t left = memory->bytes.size() - std::min(memory->place, memory->bytes.size());
  const std::size_t given = std::min(left, static_cast<std::size_t>(count));
  std::memcpy(to, memory->bytes.data() + memory->place, given);
  memory->place += given;
  return static_cast<tmsize_t>(given);
}

inline tmsize_t tiff_write(thandle_t handle, void* from, tmsize_t count) {
  auto* memory = static_cast<TiffMemory*>(handle);
  const std::size_t end = memory->place + static_cast<std::size_t>(count);
  if (memory->bytes.size() < end) memory->bytes.resize(end);
  std::memcpy(memory->bytes.data() + memory->place, from, static_cast<std::size_t>(count));
  memory->place = end;
  return count;
}

inline toff_t tiff_seek(thandle_t handle, toff_t offset, int from) {
  auto* memory = static_cast<TiffMemory*>(handle);
  if (from == SEEK_CUR) offset += memory->place;
  if (from == SEEK_END) offset += memory->bytes.size();
  return memory->place = offset;
}

/// One block of `rows` x `columns` pixels of a plane, rows padded to whole bytes.
inline Pixels tiff_block(const TiffSpec& spec, const Pixels& rows, int x, int y, int columns,
                         int height, int plane) {
  const int stored = spec.planes ? 1 : spec.samples;
  const int all_row = (spec.width * spec.samples * spec.bits + 7) / 8;
  const int row_bytes = (columns * stored * spec.bits + 7) / 8;
  Pixels block(static_cast<std::size_t>(row_bytes * height), 0);
  const auto bit_of = [&](const Pixels& from, std::size_t row, std::size_t bit) {
    return from[row + bit / 8] >> (7 - bit % 8) & 1;
  };
  for (int r = 0; r < height && y + r < spec.height; ++r) {
    for (int c = 0; c < columns && x + c < spec.width; ++c) {
      for (int s = 0; s < stored; ++s) {
        const int sample = spec.planes ? plane : s;
        for (int b = 0; b < spec.bits; ++b) {
          const int from = ((x + c) * spec.samples + sample) * spec.bits + b;
          const int to = (c * stored + s) * spec.bits + b;
          const int bit = bit_of(rows, static_cast<std::size_t>((y + r) * all_row),
                                 static_cast<std::size_t>(from));
          block[static_cast<std::size_t>(r * row_bytes + to / 8)] |=
              static_cast<std::uint8_t>(bit << (7 - to % 8));
        }
      }
    }
  }
  if (spec.bits == 16) {  // libtiff takes 16-bit samples in the machine's order
    for (std::size_t i = 0; i + 1 < block.size(); i += 2)
      std::swap(block[i], block[i + 1]);
  }
  return block;
}

inline void tiff_tags(TIFF* tiff, const TiffSpec& spec) {
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, spec.width);
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, spec.height);
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, spec.bits);
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, spec.samples);
  TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, spec.format);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, spec.photometric);
  TIFFSetField(tiff, TIFFTAG_COMPRESSION, spec.compression);
  if (spec.photometric == PHOTOMETRIC_YCBCR)
    TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, spec.planes ? 2 : 1);
  TIFFSetField(tiff, TIFFTAG_ORIENTATION, spec.orientation);
  if (spec.samples > (spec.photometric == PHOTOMETRIC_SEPARATED ? 4
                      : spec.photometric == PHOTOMETRIC_RGB     ? 3
                                                                : 1))
    TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, static_cast<unsigned>(spec.extra.size()),
                 spec.extra.data());
  if (spec.depth > 1) TIFFSetField(tiff, TIFFTAG_IMAGEDEPTH, spec.depth);
  if (spec.predictor != 1) TIFFSetField(tiff, TIFFTAG_PREDICTOR, spec.predictor);
  if (!spec.palette.empty()) {
    const std::size_t third = spec.palette.size() / 3;
    TIFFSetField(tiff, TIFFTAG_COLORMAP, spec.palette.data(), spec.palette.data() + third,
                 spec.palette.data() + 2 * third);
  }
  if (spec.tile > 0) {
    TIFFSetField(tiff, TIFFTAG_TILEWIDTH, spec.tile);
    TIFFSetField(tiff, TIFFTAG_TILELENGTH, spec.tile);
  } else {
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, spec.rows_per_strip);
  }
}

}  // namespace tiff_parts

namespace tiff_parts {

inline void tiff_blocks(TIFF* tiff, const TiffSpec& spec, const Pixels& rows) {
  const int columns = spec.tile > 0 ? spec.tile : spec.width;
  const int step = spec.tile > 0 ? spec.tile : spec.rows_per_strip;
  for (int plane = 0; plane < (spec.planes ? spec.samples : 1); ++plane) {
    for (int y = 0; y < spec.height; y += step) {
      for (int x = 0; x < spec.width; x += columns) {
        const int height = spec.tile > 0 ? step : std::min(step, spec.height - y);
        Pixels block = tiff_block(spec, rows, x, y, columns, height, plane);
        const auto ux = static_cast<std::uint32_t>(x);
        const auto uy = static_cast<std::uint32_t>(y);
        const auto up = static_cast<std::uint16_t>(plane);
        const auto size = static_cast<tmsize_t>(block.size());
        if (spec.tile > 0) {
          TIFFWriteEncodedTile(tiff, TIFFComputeTile(tiff, ux, uy, 0, up), block.data(), size);
        } else {
          TIFFWriteEncodedStrip(tiff, TIFFComputeStrip(tiff, uy, up), block.data(), size);
        }
      }
    }
  }
}

}  // namespace tiff_parts

/// `rows` packed from the highest bit on, 16-bit values big end first, samples together; the same
/// on all pages.
inline Bytes encode_tiff(const TiffSpec& spec, const Pixels& rows) {
  tiff_parts::TiffMemory memory;
  const char mode[] = {'w', spec.big_endian ? 'b' : 'l', spec.big ? '8' : '4', 'm', '\0'};
  TIFF* tiff = TIFFClientOpen(
      "test", mode, &memory, tiff_parts::tiff_read, tiff_parts::tiff_write, tiff_parts::tiff_seek,
      [](thandle_t) { return 0; },
      [](thandle_t h) { return toff_t{static_cast<tiff_parts::TiffMemory*>(h)->bytes.size()}; },
      [](thandle_t, void**, toff_t*) { return 0; }, [](thandle_t, void*, toff_t) {});
  for (int page = 0; page < spec.pages; ++page) {
    TiffSpec one = spec;
    if (page == 0) one.height -= spec.grow;
    tiff_parts::tiff_tags(tiff, one);
    if (page > 0) TIFFSetField(tiff, TIFFTAG_SUBFILETYPE, spec.further);
    tiff_parts::tiff_blocks(tiff, one, rows);
    if (page + 1 < spec.pages) TIFFWriteDirectory(tiff);
  }
  TIFFClose(tiff);
  const auto* first = reinterpret_cast<const std::byte*>(memory.bytes.data());
  return {first, first + memory.bytes.size()};
}

}  // namespace headrace::test
