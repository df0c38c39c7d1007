// What one TIFF file says of its slices, channels and time points: in right order, or refused.
#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/tiff_volume.h>
#include <headrace/tests/loaders/volume/check_has.h>
#include <headrace/tests/loaders/volume/volume_data.h>
#include <headrace/tests/loaders/volume/whole_volume.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <tiffio.h>

namespace headrace::test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t metamorph_tag = 33629, zeiss_tag = 34412;

void know_private_tags(TIFF* out) {
  static const TIFFFieldInfo fields[] = {{metamorph_tag, TIFF_VARIABLE2, TIFF_VARIABLE2, TIFF_LONG,
                                          FIELD_CUSTOM, 1, 1, const_cast<char*>("UIC2Tag")},
                                         {zeiss_tag, TIFF_VARIABLE2, TIFF_VARIABLE2, TIFF_BYTE,
                                          FIELD_CUSTOM, 1, 1, const_cast<char*>("CZ_LSMINFO")}};
  TIFFMergeFieldInfo(out, fields, 2);
}

/// Pages of 3 x 2 bytes that are all their page's number.
fs::path write_stack(const fs::path& path, int pages, const std::string& description,
                     const std::function<void(TIFF*)>& more = {}) {
  TIFF* out = TIFFOpen(path.c_str(), "w");
  REQUIRE(out != nullptr);
  for (int page = 0; page < pages; ++page) {
    TIFFSetField(out, TIFFTAG_IMAGEWIDTH, 3);
    TIFFSetField(out, TIFFTAG_IMAGELENGTH, 2);
    TIFFSetField(out, TIFFTAG_BITSPERSAMPLE, 8);
    TIFFSetField(out, TIFFTAG_ROWSPERSTRIP, 2);
    TIFFSetField(out, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    if (page == 0 && !description.empty())
      TIFFSetField(out, TIFFTAG_IMAGEDESCRIPTION, description.c_str());
    if (page == 0 && more) more(out);
    std::vector<std::uint8_t> row(3, static_cast<std::uint8_t>(page));
    for (std::uint32_t y = 0; y < 2; ++y)
      TIFFWriteScanline(out, row.data(), y, 0);
    TIFFWriteDirectory(out);
  }
  TIFFClose(out);
  return path;
}

/// The pages in the order channel, z; or what it is refused with.
std::string order_of(const fs::path& path) {
  try {
    const auto volume = open_tiff_volume(path);
    const VolumeIndex& shape = volume->info().shape;
    std::string text = std::to_string(shape[0]) + "x" + std::to_string(shape[1]) + ":";
    const std::vector<std::byte> voxels = whole_volume(*volume);
    for (std::size_t i = 0; i < voxels.size(); i += 6)
      text += " " + std::to_string(std::to_integer<int>(voxels[i]));
    return text;
  } catch (const DataError& error) {
    return error.what();
  }
}

std::string described(int pages, const std::string& description,
                      const std::function<void(TIFF*)>& more = {}) {
  const TemporaryFolder folder;
  return order_of(write_stack(folder / "x.tif", pages, description, more));
}

/// OME's XML of 2 channels and 3 slices.
std::string ome(const std::string& planes, const std::string& order = "XYCZT",
                const std::string& extents = "SizeC=\"2\" SizeZ=\"3\" SizeT=\"1\"") {
  return "<?xml version=\"1.0\"?><!-- <Pixels/> of <OME> --><OME xmlns=\"x\"><Image Name='a'>"
         "<Pixels DimensionOrder=\"" +
         order + "\" SizeX=\"3\" SizeY=\"2\" " + extents + ">" + planes + "</Pixels></Image></OME>";
}

}  // namespace

TEST_CASE("ImageJ's channels and slices come in order; time points and lost pages are refused") {
  const std::string start = "ImageJ=1.54f\nimages=6\n";
  CHECK(described(6, start + "channels=2\nslices=3\n") == "2x3: 0 2 4 1 3 5");
  CHECK(described(6, start + "channels=2\n") == "2x3: 0 2 4 1 3 5");
  CHECK(described(6, start + "slices=6\n") == "1x6: 0 1 2 3 4 5");
  CHECK(described(6, "ImageJ=1.54f\nunit=um\n") == "1x6: 0 1 2 3 4 5");
  check_has(described(6, start + "frames=3\nslices=2\n"),
            "must be one volume, its description says 1 channels, 2 slices, 3 time points; save "
            "each time point");
  check_has(described(5, start + "channels=2\nslices=3\n"),
            "must have the pages that its description says, 2 channels, 3 slices, 1 time points, "
            "got 5");
  check_has(described(6, start + "channels=2\nslices=2\n"),
            "says that it has 6 images, but its channels, slices and frames are 4");
  check_has(described(6, start + "channels=4000000000000000000\nslices=4000000000000000000\n"),
            "but its channels, slices and frames are 9223372036854775807");
  for (const char* name : {"imagej-frames.tif", "imagej-both.tif"})
    check_has(order_of(volume_data() / name), "2 time points; save each time point");
}

TEST_CASE("OME's planes are where its TiffData say, whatever their order") {
  CHECK(described(6, ome("")) == "2x3: 0 2 4 1 3 5");
  CHECK(described(6, ome("", "XYZCT")) == "2x3: 0 1 2 3 4 5");
  CHECK(described(6, ome("<TiffData/>", "XYZTC")) == "2x3: 0 1 2 3 4 5");
  CHECK(described(6, ome("<TiffData IFD=\"3\" PlaneCount=\"3\"/>"
                         "<TiffData IFD=\"0\" FirstC=\"1\" PlaneCount=\"3\"/>",
                         "XYZCT")) == "2x3: 3 4 5 0 1 2");
  std::string planes;
  for (int i = 0; i < 6; ++i)
    planes += "<TiffData FirstC=\"" + std::to_string(i % 2) + "\" FirstZ=\"" +
              std::to_string(i / 2) + "\" IFD=\"" + std::to_string(5 - i) + "\"><UUID/></TiffData>";
  CHECK(described(6, ome(planes)) == "2x3: 5 3 1 4 2 0");
  const char* const apart = "OME's TiffData must give each of its 6 pages a plane of its own";
  check_has(described(6, ome("<TiffData IFD=\"0\" PlaneCount=\"5\"/>")), apart);
  check_has(described(6, ome("<TiffData IFD=\"1\" PlaneCount=\"6\"/>")), apart);
  CHECK(described(6, ome(planes + "<TiffData FirstZ=\"3\" IFD=\"0\"/>")) == "2x3: 5 3 1 4 2 0");
  check_has(described(6, ome("<TiffData IFD=\"0\"/><TiffData IFD=\"0\" FirstZ=\"1\"/>")), apart);
}

TEST_CASE("an OME-TIFF of several images, files or time points is refused by its cause") {
  check_has(described(6, ome("", "XYCZT", "SizeC=\"1\" SizeZ=\"3\" SizeT=\"2\"")),
            "1 channels, 3 slices, 2 time points; save each");
  check_has(described(5, ome("")), "2 channels, 3 slices, 1 time points, got 5; it is cut off");
  check_has(described(1, ome("<TiffData/>")), "2 channels, 3 slices, 1 time points, got 1; it is");
  check_has(described(6, "<OME><Image><Pixels/></Image><Image><Pixels/></Image></OME>"),
            "OME-TIFF must describe one image, got 2; save each as a file of its own");
  check_has(described(6, "<OME><BinaryOnly MetadataFile=\"x\"/></OME>"), "lies in another file");
  check_has(described(6, "<ome:OME><ome:Image/></ome:OME>"), "lies in another file");
  check_has(described(6, ome("", "XYCZT", "SizeC=\"2\" SizeZ=\"0\" SizeT=\"1\"")),
            "OME's SizeZ must be a whole number from 1 on, got \"0\"");
  check_has(described(6, ome("", "XYCZT", "SizeC=\"2\" SizeT=\"1\"")), "OME's SizeZ must be");
  CHECK(described(6, ome("", "XYCZT",
                         "MaxSizeZ=\"9\" SizeZIs=\"9\" SizeC=\"2\" SizeZ=\"3\" SizeT=\"1\"")) ==
        "2x3: 0 2 4 1 3 5");
  check_has(described(6, ome("", "XY")), "OME's DimensionOrder must be like XYCZT, got \"XY\"");
  check_has(described(6, ome("<TiffData IFD=\"x\"/>")), "OME's IFD must be a whole number");
}

TEST_CASE("lengths of OME are in its units, micrometres where it names none") {
  const TemporaryFolder folder;
  const auto spacing = [&](const std::string& lengths) {
    const auto volume = open_tiff_volume(write_stack(
        folder / "x.tif", 1, ome("", "XYCZT", "SizeC=\"1\" SizeZ=\"1\" SizeT=\"1\" " + lengths)));
    CHECK(volume->info().affine[10] == volume->info().spacing[0]);
    return volume->info().spacing[0];
  };
  CHECK(spacing("PhysicalSizeZ=\"2\"") == doctest::Approx(2e-3));
  CHECK(spacing("PhysicalSizeZ=\"2\" PhysicalSizeZUnit=\"\u00b5m\"") == doctest::Approx(2e-3));
  CHECK(spacing("PhysicalSizeZ=\"2\" PhysicalSizeZUnit='&#181;m'") == doctest::Approx(2e-3));
  CHECK(spacing("PhysicalSizeZ=\"2\" PhysicalSizeZUnit=\"mm\"") == 2.0);
  CHECK(spacing("PhysicalSizeZ=\"2\" PhysicalSizeZUnit=\"pixel\"") == 1.0);
  CHECK(spacing("PhysicalSizeZ=\"-2\"") == 1.0);
  CHECK(spacing("PhysicalSizeZ=\"inf\"") == 1.0);
  CHECK(spacing("") == 1.0);
}

TEST_CASE("tifffile's axes are channel and z; more, or other pages than it says, are refused") {
  CHECK(described(6, R"({"shape": [6, 2, 3]})") == "1x6: 0 1 2 3 4 5");
  CHECK(described(6, R"({"shape": [2, 3, 2, 3, 1]})") == "2x3: 0 1 2 3 4 5");
  CHECK(described(6, R"({"axes": "ZCYX", "shape": [3, 2, 2, 3]})") == "2x3: 0 2 4 1 3 5");
  CHECK(described(6, R"({"shape": [6, 2, 3], "axes": "CYX"})") == "6x1: 0 1 2 3 4 5");
  CHECK(described(6, R"({"shape": [2, 3]})") == "1x6: 0 1 2 3 4 5");
  CHECK(described(6, R"({"shape": "none"})") == "1x6: 0 1 2 3 4 5");
  CHECK(described(6, R"({"shape" - 3})") == "1x6: 0 1 2 3 4 5");
  check_has(described(6, R"({"shape": [6, 2, 3], "axes": "TYX"})"), "6 time points; save each");
  check_has(described(6, R"({"shape": [1, 2, 3, 1, 2, 3], "axes": "TZQCYX"})"),
            "must have axes channel, z, y, x, got \"shape\" [1,2,3,1,2,3]; write a file");
  check_has(described(6, R"({"shape": [6, 4, 3]})"), "must end with the pages' 2 x 3");
  check_has(described(6, R"({"shape": [7, 2, 3]})"), "7 slices, 1 time points, got 6; it is");
  check_has(described(1, R"({"shape": [4, 2, 3]})"), "4 slices, 1 time points, got 1; it is");
  check_has(described(1, R"({"shape": [4, 2, 3], "truncated": true})"),
            "must have the 4 images that its description says, got ");
  check_has(described(2, R"({"shape": [4, 2, 3], "truncated": true})"),
            "4 slices, 1 time points, got 2");
}

TEST_CASE("directories that hold several slices in a way of their own are refused by name") {
  check_has(described(1, "", [](TIFF* out) { TIFFSetField(out, TIFFTAG_IMAGEDEPTH, 4); }),
            "page 0: must be one slice, got 4 (ImageDepth, TileDepth); save each slice as a page");
  const auto numbers = [](std::uint32_t tag, std::vector<std::uint8_t> bytes, std::uint32_t count) {
    return [=](TIFF* out) {
      know_private_tags(out);
      TIFFSetField(out, tag, count, bytes.data());
    };
  };
  check_has(described(1, "", numbers(metamorph_tag, std::vector<std::uint8_t>(40), 10)),
            "page 0: is a MetaMorph stack (STK) of 10 planes in one directory");
  CHECK(described(2, "", numbers(metamorph_tag, std::vector<std::uint8_t>(4), 1)) == "1x2: 0 1");
  std::vector<std::uint8_t> zeiss(64);
  zeiss[24] = 1;
  CHECK(described(2, "", numbers(zeiss_tag, zeiss, 64)) == "1x2: 0 1");
  zeiss[25] = 1;
  check_has(described(2, "", numbers(zeiss_tag, zeiss, 64)),
            "page 0: is of a Zeiss LSM file with several time points");
}

TEST_CASE("what tifffile writes of such kinds is refused, too") {
  const auto refusal = [](const char* name) { return order_of(volume_data() / name); };
  check_has(refusal("refused-depth.tif"), "must be one slice, got 4 (ImageDepth, TileDepth)");
  check_has(refusal("refused-stk.tif"), "is a MetaMorph stack (STK) of 4 planes");
  check_has(refusal("refused-lsm.tif"), "is of a Zeiss LSM file with several time points");
}

TEST_CASE("a slice of a folder must be one page by its description, too") {
  const TemporaryFolder folder;
  write_stack(folder / "1.tif", 1, "ImageJ=1.54f\nimages=4\nslices=4\n");
  CHECK_THROWS_WITH_AS(open_tiff_volume(folder.path()),
                       doctest::Contains("1.tif: must have one page, as a slice of a folder"),
                       DataError);
  write_stack(folder / "1.tif", 1, "ImageJ=1.54f\n");
  CHECK(order_of(folder.path()) == "1x1: 0");
  const std::size_t one = open_tiff_volume(folder.path())->resident_bytes();
  write_stack(folder / "2.tif", 1, "ImageJ=1.54f\n");
  CHECK(open_tiff_volume(folder.path())->resident_bytes() >= 2 * one);
  CHECK(one > 0);
  fs::rename(folder / "2.tif", folder / "fetched");
  fs::create_symlink("nowhere", folder / "2.tif");
  CHECK_THROWS_WITH_AS(open_tiff_volume(folder.path()),
                       doctest::Contains("2.tif: link leads nowhere"), ConfigError);
}

}  // namespace headrace::test
