#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/loaders/image/image_folder.h>
#include <headrace/loaders/image/image_formats.h>
#include <headrace/tests/loaders/image_corpus.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/source_folder.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Bytes;
using headrace::test::Pixels;

namespace {

/// A bitmap of 24 bits a pixel whose rows need no padding.
Bytes bmp(int width, int height, const Pixels& rgb) {
  Bytes file = test::bytes_of("BM");
  const auto put = [&file](std::size_t value, int count) {
    for (int i = 0; i < count; ++i)
      file.push_back(static_cast<std::byte>(value >> 8 * i));
  };
  for (const std::size_t word : {54 + rgb.size(), std::size_t{0}, std::size_t{54}, std::size_t{40},
                                 static_cast<std::size_t>(width), static_cast<std::size_t>(height)})
    put(word, 4);
  put(1, 2);
  put(24, 2);
  for (int i = 0; i < 6; ++i)
    put(0, 4);
  for (int y = height - 1; y >= 0; --y) {
    for (int x = 0; x < width; ++x) {
      const std::uint8_t* pixel = rgb.data() + 3 * (y * width + x);
      for (const std::uint8_t channel : {pixel[2], pixel[1], pixel[0]})
        put(channel, 1);
    }
  }
  return file;
}

/// A small colour picture in every format. A new row of the table needs one here.
std::map<std::string, Bytes> files() {
  const Pixels pixels = test::picture(8, 6, 3);
  return {
      {"JPEG", test::encode_jpeg({.width = 8, .height = 6}, pixels)},
      {"PNG", test::encode_png({.width = 8, .height = 6}, pixels, 24)},
      {"WebP", test::from_hex("524946462e000000574542505650384c220000002f06000100b93244f43f7611d1ff"
                              "8042b611a0319d3fde8b301e931013006405da13")},
      {"BMP", bmp(8, 6, pixels)},
      {"TIFF", test::encode_tiff({.width = 8, .height = 6}, pixels)},
  };
}

std::string in_capitals(std::string_view extension) {
  std::string text(extension);
  for (char& c : text)
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

TEST_CASE("a file of every format is told by its first bytes, and decoded") {
  const std::map<std::string, Bytes> samples = files();
  for (const ImageFormat& format : image_formats()) {
    CAPTURE(format.name);
    REQUIRE(samples.count(std::string(format.name)) == 1);
    const Bytes& file = samples.at(std::string(format.name));
    REQUIRE(format_of(file) != nullptr);
    CHECK(format_of(file)->name == format.name);
    ImageDecoder decoder;
    const ImageHeader header = decoder.open(file);
    CHECK(header.format == format.name);
    Pixels shown(std::size_t{3} * 6 * 8, 7);
    decoder.decode({0,
                    0,
                    double(header.width),
                    double(header.height),
                    {.width = header.width, .height = header.height}},
                   {.rgb = shown.data(), .height = 6, .width = 8});
    CHECK(std::set<int>(shown.begin(), shown.end()).size() > 10);
  }
}

TEST_CASE("a WebP file that another codec of OpenCV might take for its own is refused") {
  for (const auto& [place, mark] :
       {std::pair<std::size_t, std::string>{128, "DICM"}, {140, "DTED"}}) {
    CAPTURE(mark);
    Bytes file = test::bytes_of("RIFF....WEBPVP8L" + std::string(160, '\1'));
    ImageDecoder decoder;
    CHECK(decoder.open(file).format == "WebP");
    std::ranges::copy(test::bytes_of(mark), file.begin() + static_cast<std::ptrdiff_t>(place));
    CHECK_THROWS_WITH_AS(decoder.open(file), doctest::Contains("mark of a DICOM or DTED"),
                         DataError);
  }
}

TEST_CASE("one decoder takes files of all formats in turn and shows nothing of the one before") {
  ImageDecoder decoder;
  const Bytes nothing = test::bytes_of("no picture at all");
  std::map<std::string, Pixels> first;
  for (int round = 0; round < 3; ++round) {
    for (const auto& sample : files()) {
      CAPTURE(sample.first);
      const ImageHeader header = decoder.open(sample.second);
      Pixels shown(std::size_t{3} * 5 * 5);
      decoder.decode({1, 1, 5, 4, {.x = 1, .y = 1, .width = 5, .height = 4}},
                     {.rgb = shown.data(), .height = 5, .width = 5});
      CHECK(header.width >= 7);
      CHECK(first.emplace(sample.first, shown).first->second == shown);
      CHECK_THROWS_AS(decoder.open(nothing), DataError);
      CHECK_THROWS_AS(decoder.decode({0, 0, 2, 2, {.width = 2, .height = 2}},
                                     {.rgb = shown.data(), .height = 2, .width = 2}),
                      DataError);
    }
  }
}

TEST_CASE("folders list every extension of every format, in any case, and nothing else") {
  const test::TemporaryFolder folder;
  const std::filesystem::path own = folder / "class";
  std::filesystem::create_directory(own);
  std::set<std::string> wanted;
  int number = 0;
  for (const ImageFormat& format : image_formats()) {
    CHECK_FALSE(format.extensions[0].empty());
    for (const std::string_view extension : format.extensions) {
      if (extension.empty()) continue;
      CHECK(extension.front() == '.');
      for (const std::string& written : {std::string(extension), in_capitals(extension)}) {
        const std::string name = std::to_string(number++) + written;
        std::ofstream(own / name) << "x";
        wanted.insert("class/" + name);
      }
    }
  }
  for (const char* other : {"notes.txt", "jpg", "a.gif", "a.jpgx", "a.jpg.part", ".png"})
    std::ofstream(own / other) << "x";
  const ImageFolder listed(folder.path());
  std::set<std::string> found;
  for (std::int64_t i = 0; i < listed.size(); ++i)
    found.insert(listed.origin(i));
  CHECK(found == wanted);
  CHECK(wanted.size() >= 14);
}

TEST_CASE("no two formats begin or end alike, and each stands in the docs") {
  const std::string docs =
      test::content_of(std::filesystem::path(headrace::test::source_folder()) / "docs/images.md");
  std::set<std::string> names;
  std::set<std::string> extensions;
  for (const ImageFormat& format : image_formats()) {
    CAPTURE(format.name);
    CHECK(names.insert(std::string(format.name)).second);
    CHECK_FALSE(format.signatures[0].empty());
    for (const std::string_view extension : format.extensions)
      CHECK((extension.empty() || extensions.insert(std::string(extension)).second));
    for (const std::string_view begin : format.signatures) {
      if (begin.empty()) continue;
      std::string signature(begin);
      signature.resize(64);
      CHECK(format_of(test::bytes_of(signature)) == &format);
      CHECK(format_of(test::bytes_of(signature.substr(0, 1))) == nullptr);
    }
    CHECK(docs.find(format.name) != std::string::npos);
  }
  CHECK(format_of({}) == nullptr);
}
