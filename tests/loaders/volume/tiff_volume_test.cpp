#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/tiff_volume.h>
#include <headrace/tests/loaders/file_bytes.h>
#include <headrace/tests/loaders/volume/check_has.h>
#include <headrace/tests/loaders/volume/volume_data.h>
#include <headrace/tests/loaders/volume/whole_volume.h>
#include <headrace/tests/support/temporary_folder.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <tiffio.h>

namespace headrace::test {
namespace {

namespace fs = std::filesystem;

/// How a page is written; voxels count up from `first`.
struct Page {
  std::uint32_t width = 6, height = 5;
  std::uint16_t bits = 16, format = SAMPLEFORMAT_UINT, compression = COMPRESSION_ADOBE_DEFLATE;
  std::uint32_t tile = 0, rows = 2;
  std::uint16_t samples = 1;
  std::uint16_t first = 0;
};

void write_voxels(TIFF* out, const Page& page) {
  const std::size_t pixels = std::size_t{page.width} * page.height;
  std::vector<std::uint16_t> voxels(pixels);
  std::iota(voxels.begin(), voxels.end(), page.first);
  const std::size_t bytes = page.bits / 8U * page.samples;
  if (page.tile == 0) {
    std::vector<std::uint16_t> row(page.width * 4 * bytes / 2 + 8);
    for (std::uint32_t y = 0; y < page.height; ++y) {
      std::memcpy(row.data(), voxels.data() + std::size_t{y} * page.width, page.width * 2U);
      TIFFWriteScanline(out, row.data(), y, 0);
    }
    return;
  }
  std::vector<std::uint16_t> tile(std::size_t{page.tile} * page.tile);
  for (std::uint32_t y = 0; y < page.height; y += page.tile) {
    for (std::uint32_t x = 0; x < page.width; x += page.tile) {
      for (std::uint32_t i = 0; i < tile.size(); ++i) {
        const std::uint32_t row = y + i / page.tile, column = x + i % page.tile;
        tile[i] = row < page.height && column < page.width
                      ? voxels[std::size_t{row} * page.width + column]
                      : std::uint16_t{0};
      }
      TIFFWriteTile(out, tile.data(), x, y, 0, 0);
    }
  }
}

fs::path write_pages(const fs::path& path, const std::vector<Page>& pages) {
  TIFF* out = TIFFOpen(path.c_str(), "w");
  REQUIRE(out != nullptr);
  for (const Page& page : pages) {
    TIFFSetField(out, TIFFTAG_IMAGEWIDTH, page.width);
    TIFFSetField(out, TIFFTAG_IMAGELENGTH, page.height);
    TIFFSetField(out, TIFFTAG_BITSPERSAMPLE, page.bits);
    TIFFSetField(out, TIFFTAG_SAMPLEFORMAT, page.format);
    TIFFSetField(out, TIFFTAG_SAMPLESPERPIXEL, page.samples);
    TIFFSetField(out, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(out, TIFFTAG_COMPRESSION, page.compression);
    TIFFSetField(out, TIFFTAG_PHOTOMETRIC,
                 page.samples == 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
    if (page.tile > 0) {
      TIFFSetField(out, TIFFTAG_TILEWIDTH, page.tile);
      TIFFSetField(out, TIFFTAG_TILELENGTH, page.tile);
    } else {
      TIFFSetField(out, TIFFTAG_ROWSPERSTRIP, page.rows);
    }
    write_voxels(out, page);
    TIFFWriteDirectory(out);
  }
  TIFFClose(out);
  return path;
}

std::string tiff_complaint(const fs::path& path) {
  try {
    whole_volume(*open_tiff_volume(path));
  } catch (const DataError& error) {
    const std::string what = error.what();
    CHECK(what.find("[tiff]") == 0);
    CHECK(what.find(path.filename().string()) != std::string::npos);
    return what;
  }
  return "no error";
}

/// What a stack of pages holds that count up: page z begins at z * 1000.
std::vector<std::uint16_t> counted(std::uint16_t pages, std::uint32_t width, std::uint32_t height) {
  std::vector<std::uint16_t> all;
  for (std::uint16_t z = 0; z < pages; ++z) {
    std::vector<std::uint16_t> page(std::size_t{width} * height);
    std::iota(page.begin(), page.end(), static_cast<std::uint16_t>(z * 1000));
    all.insert(all.end(), page.begin(), page.end());
  }
  return all;
}

void check_counted(const Volume& volume, std::uint16_t pages, std::uint32_t width,
                   std::uint32_t height) {
  const std::vector<std::uint16_t> wanted = counted(pages, width, height);
  const std::vector<std::byte> read = whole_volume(volume);
  REQUIRE(read.size() == wanted.size() * 2);
  CHECK(std::memcmp(read.data(), wanted.data(), read.size()) == 0);
}

}  // namespace

TEST_CASE("pages that are not of one size and type, or not grey numbers, are refused by number") {
  const TemporaryFolder folder;
  const fs::path path = folder / "x.tif";
  const auto of = [&](const Page& page) {
    return tiff_complaint(write_pages(path, {Page{}, page}));
  };
  CHECK(of({}) == "no error");
  check_has(of({.width = 7}), "page 1 must be 6 x 5 uint16 as the first one is, got 7 x 5 uint16");
  check_has(of({.height = 4}), "page 1 must be 6 x 5 uint16 as the first one is, got 6 x 4 uint16");
  check_has(of({.format = SAMPLEFORMAT_INT}), "got 6 x 5 int16");
  check_has(of({.samples = 3}),
            "page 1: must have one grey sample a pixel, got 3 with photometric 2");
  check_has(of({.format = SAMPLEFORMAT_IEEEFP}), "got 16 bits of sample format 3");
  check_has(of({.bits = 32, .format = SAMPLEFORMAT_COMPLEXINT}), "got 32 bits of sample format 5");
}

TEST_CASE("directories that form a loop, lead nowhere or are broken are refused") {
  const TemporaryFolder folder;
  const fs::path path = folder / "x.tif";
  const std::string whole = content_of(write_pages(path, {Page{}, Page{}, Page{}}));
  REQUIRE(tiff_complaint(path) == "no error");
  std::vector<std::size_t> links;  // where the offset of the next directory stands
  std::uint32_t next = 0;
  for (std::size_t at = 4;; at = links.back()) {
    std::memcpy(&next, whole.data() + at, 4);
    if (next == 0) break;
    std::uint16_t entries = 0;
    std::memcpy(&entries, whole.data() + next, 2);
    links.push_back(next + 2 + 12U * entries);
  }
  REQUIRE(links.size() == 3);
  const auto linked = [&](std::size_t link, std::uint32_t to) {
    std::string bytes = whole;
    std::memcpy(bytes.data() + links[link], &to, 4);
    make_file(path, bytes);
    return tiff_complaint(path);
  };
  std::uint32_t first = 0;
  std::memcpy(&first, whole.data() + 4, 4);
  check_has(linked(2, first), "its directories must be a chain that ends");
  check_has(linked(0, first), "its directories must be a chain that ends");
  check_has(linked(1, 1U << 30), "its directories must be a chain that ends");
  check_has(linked(1, 1), "");
  CHECK(linked(1, 0) == "no error");
  make_file(path, whole.substr(0, 6));
  check_has(tiff_complaint(path), "must be a TIFF file, got a broken header or directory");
  make_file(path, "II*");
  check_has(tiff_complaint(path), "must be a TIFF file");
  make_file(path, "");
  check_has(tiff_complaint(path), "must be a TIFF file");
}

TEST_CASE("cut-off and damaged pages are a data error that says which strip, whatever the cut") {
  const TemporaryFolder folder;
  for (const std::uint16_t compression :
       {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE}) {
    const fs::path path = write_pages(folder / "x.tif", {{.compression = compression}});
    const std::string whole = content_of(path);
    int refused = 0;
    for (std::size_t bytes = 0; bytes < whole.size(); bytes += 7) {
      make_file(path, whole.substr(0, bytes));
      if (tiff_complaint(path) != "no error") ++refused;
    }
    CHECK(refused > static_cast<int>(whole.size() / 14));
  }
  std::string bytes = content_of(write_pages(folder / "x.tif", {Page{}}));
  bytes[20] = static_cast<char>(bytes[20] ^ 0x55);
  make_file(folder / "x.tif", bytes);
  check_has(tiff_complaint(folder / "x.tif"), "is broken or cut off");
}

TEST_CASE("a page whose size is absurd is refused before memory is taken for it") {
  const TemporaryFolder folder;
  const fs::path path = folder / "x.tif";
  const std::string whole = content_of(write_pages(path, {Page{}}));
  const auto set = [&](std::uint16_t tag, std::uint32_t value) {
    std::string bytes = whole;
    std::uint32_t at = 0;
    std::uint16_t entries = 0;
    std::memcpy(&at, bytes.data() + 4, 4);
    std::memcpy(&entries, bytes.data() + at, 2);
    for (std::size_t i = 0; i < entries; ++i) {
      std::uint16_t here = 0;
      const std::size_t entry = at + 2 + 12 * i;
      std::memcpy(&here, bytes.data() + entry, 2);
      if (here != tag) continue;
      const std::uint16_t four = 4;
      std::memcpy(bytes.data() + entry + 2, &four, 2);
      std::memcpy(bytes.data() + entry + 8, &value, 4);
    }
    make_file(path, bytes);
    try {
      whole_volume(*open_tiff_volume(path));
    } catch (const DataError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK(set(TIFFTAG_IMAGEWIDTH, 0xffffffff) != "no error");
  CHECK(set(TIFFTAG_IMAGELENGTH, 0xffffffff) != "no error");
  CHECK(set(TIFFTAG_IMAGEWIDTH, 0) != "no error");
  check_has(set(TIFFTAG_IMAGEWIDTH, 1U << 20), "page 0: must have at most 1032 times the ");
  check_has(set(TIFFTAG_IMAGEWIDTH, 1U << 27), "page 0: must have at most 1032 times the ");
}

TEST_CASE("a large page comes in rows of tiles, strips or plain rows, from any thread") {
  const TemporaryFolder folder;
  constexpr std::uint32_t width = 1500, height = 900;
  const std::array<Page, 5> kinds{
      Page{.tile = 256}, Page{.rows = 50}, Page{.compression = COMPRESSION_NONE, .rows = height},
      Page{.compression = COMPRESSION_NONE, .rows = 7}, Page{.rows = height}};
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    std::vector<Page> pages(3, kinds[kind]);
    for (std::uint16_t z = 0; z < 3; ++z) {
      pages[z].width = width, pages[z].height = height;
      pages[z].first = static_cast<std::uint16_t>(z * 1000);
    }
    const auto volume = open_tiff_volume(write_pages(folder / "x.tif", pages));
    CAPTURE(kind);
    CHECK((volume->info().block[2] < height) == (kind < 4));
    check_counted(*volume, 3, width, height);
    std::vector<std::thread> threads;
    std::vector<std::vector<std::byte>> read(4);
    for (auto& mine : read)
      threads.emplace_back([&] { mine = whole_volume(*volume); });
    for (std::thread& thread : threads)
      thread.join();
    for (const auto& mine : read)
      CHECK(mine == whole_volume(*volume));
  }
}

TEST_CASE("pages kept in different ways are one volume in the blocks of the first") {
  const TemporaryFolder folder;
  std::vector<Page> pages{
      {.tile = 256}, {.compression = COMPRESSION_NONE, .rows = 11}, {.rows = 33}, {.tile = 16}};
  const std::size_t kinds = pages.size();
  for (std::size_t turn = 0; turn < kinds; ++turn) {
    for (std::uint16_t z = 0; z < kinds; ++z) {
      pages[z].width = 1300, pages[z].height = 1000;
      pages[z].first = static_cast<std::uint16_t>(z * 1000);
    }
    check_counted(*open_tiff_volume(write_pages(folder / "x.tif", pages)), 4, 1300, 1000);
    std::rotate(pages.begin(), pages.begin() + 1, pages.end());
  }
}

TEST_CASE("the slices of a folder come in the order of their numbers and must be alike") {
  const TemporaryFolder folder;
  for (const std::uint16_t z : {9, 10, 11, 100})
    write_pages(folder / std::string("s").append(std::to_string(z)).append(".tif"),
                {{.first = static_cast<std::uint16_t>((z == 100 ? 3 : z - 9) * 1000)}});
  make_file(folder / "notes.txt", "not a slice");
  make_file(folder / "._s1.tif", "nor this");
  check_counted(*open_tiff_volume(folder.path()), 4, 6, 5);
  const auto volume = open_tiff_volume(folder.path());
  write_pages(folder / "s10.tif", {{.width = 7}});
  CHECK_THROWS_WITH_AS(open_tiff_volume(folder.path()),
                       doctest::Contains("s10.tif: page 0 must be 6 x 5 uint16"), DataError);
  CHECK_THROWS_WITH_AS(whole_volume(*volume), doctest::Contains("s10.tif: must stay as it is"),
                       PipelineError);
  fs::remove(folder / "s10.tif");
  CHECK_THROWS_WITH_AS(whole_volume(*volume), doctest::Contains("s10.tif: there is no such file"),
                       DataError);
  write_pages(folder / "s10.tif", {Page{}, Page{}});
  CHECK_THROWS_WITH_AS(open_tiff_volume(folder.path()),
                       doctest::Contains("s10.tif: must have one page"), DataError);
  const TemporaryFolder empty;
  CHECK_THROWS_WITH_AS(open_tiff_volume(empty.path()), doctest::Contains("must hold slices"),
                       ConfigError);
}

TEST_CASE("an ImageJ stack with one directory must have all its images") {
  const TemporaryFolder folder;
  const std::string whole = content_of(volume_data() / "imagej-one-directory.tif");
  make_file(folder / "x.tif", whole);
  REQUIRE(tiff_complaint(folder / "x.tif") == "no error");
  std::string said = "no error";
  for (std::size_t bytes = whole.size(); said == "no error"; bytes -= 30) {
    make_file(folder / "x.tif", whole.substr(0, bytes));
    said = tiff_complaint(folder / "x.tif");
  }
  check_has(said, "must have the 4 images that its description says, got 3");
}

}  // namespace headrace::test
