// Which prepared cases a later run leaves as they are, and that one run at a time writes them.
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/folder_lock.h>
#include <headrace/loaders/volume/volume_preparation.h>
#include <headrace/tests/loaders/volume/prepared_volumes.h>

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <zlib.h>

namespace headrace::test {
namespace {

namespace fs = std::filesystem;

constexpr VolumeInfo small{.shape = {1, 8, 9, 10}};

std::int64_t some_value(std::int64_t z, std::int64_t y, std::int64_t x) {
  return 1 + (z * 7 + y * 3 + x) % 200;
}

std::string bytes_in(const fs::path& file) {
  std::ifstream from(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(from), {}};
}

void put(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

void put_packed(const fs::path& file, const std::string& bytes) {
  gzFile to = gzopen(file.c_str(), "wb");
  REQUIRE(to != nullptr);
  CHECK(gzwrite(to, bytes.data(), static_cast<unsigned>(bytes.size())) ==
        static_cast<int>(bytes.size()));
  CHECK(gzclose(to) == Z_OK);
}

void change_byte(const fs::path& file, std::size_t at) {
  std::string bytes = bytes_in(file);
  bytes.at(at) = static_cast<char>(bytes[at] ^ 1);
  put(file, bytes);
}

/// Whether a run leaves the case "a" as it lies in `folder`/out.
bool kept(const TemporaryFolder& folder, const fs::path& image) {
  std::int64_t were_kept = 0;
  PrepareOptions options = options_for(folder);
  options.on_progress = [&](std::int64_t, std::int64_t before, std::int64_t) {
    were_kept = before;
  };
  REQUIRE(prepare_cases({{"a", {image}, {}}}, {}, options).size() == 1);
  return were_kept == 1;
}

/// The two files of a pair, header and voxels.
std::array<std::string, 2> pair_of(const TemporaryFolder& folder) {
  NnUNetRawFiles::write<std::uint8_t>(folder / "whole.nii", small, some_value);
  const std::string whole = bytes_in(folder / "whole.nii");
  std::string header = whole.substr(0, 348);
  const float begin = 0;
  std::memcpy(header.data() + 108, &begin, sizeof begin);
  header.replace(344, 4, std::string("ni1\0", 4));
  return {header, whole.substr(whole.size() - 8 * 9 * 10)};
}

}  // namespace

TEST_CASE("one run at a time prepares into a folder") {
  const NnUNetRawFiles files;
  const TemporaryFolder folder;
  const PrepareOptions options = options_for(folder);
  fs::create_directories(options.folder);
  std::optional<FolderLock> other(options.folder);
  const std::string message = refusal<ResourceError>(cases_of(files), {}, options);
  CHECK_MESSAGE(contains(message, "another run is preparing into it; wait for it, or name another"),
                message);
  CHECK(fs::is_empty(options.folder));
  other.reset();
  CHECK(prepare_cases(cases_of(files), {}, options).size() == 4);
  other.emplace(options.folder);
  REQUIRE(!other->refused());
  CHECK(prepare_cases(cases_of(files), {}, options).size() ==
        4);  // all are there: nothing to write
}

TEST_CASE("files of another data set with the same names, sizes and times are other cases") {
  const TemporaryFolder folder;
  for (const char* part : {"first", "second", "moved"})
    fs::create_directory(folder / part);
  const fs::path first = folder / "first/a.nii";
  const fs::path second = folder / "second/a.nii";
  NnUNetRawFiles::write<std::uint8_t>(first, small, some_value);
  NnUNetRawFiles::write<std::uint8_t>(second, small,
                                      [](std::int64_t z, std::int64_t y, std::int64_t x) {
                                        return z == 4 && y == 4 ? 201 : some_value(z, y, x);
                                      });
  fs::last_write_time(second, fs::last_write_time(first));
  REQUIRE(fs::file_size(first) == fs::file_size(second));
  CHECK(!kept(folder, first));
  CHECK(kept(folder, first));
  CHECK(!kept(folder, second));
  fs::rename(second, folder / "moved/a.nii");
  CHECK(kept(folder, folder / "moved/a.nii"));
}

TEST_CASE("a record vouches for what was written, not for other files of its size") {
  const TemporaryFolder folder;
  NnUNetRawFiles::write<std::uint8_t>(folder / "a.nii", small, some_value);
  CHECK(!kept(folder, folder / "a.nii"));
  CHECK(kept(folder, folder / "a.nii"));
  const std::string good = bytes_in(folder / "out/a.image.hrv");
  change_byte(folder / "out/a.image.hrv", 235);  // of the fingerprint of what it was made from
  CHECK(!kept(folder, folder / "a.nii"));
  CHECK(bytes_in(folder / "out/a.image.hrv") == good);
  fs::resize_file(folder / "out/a.image.hrv", 0);
  CHECK(!kept(folder, folder / "a.nii"));
  CHECK(bytes_in(folder / "out/a.image.hrv") == good);
}

TEST_CASE("a record that states other sides than its files have vouches for nothing") {
  const TemporaryFolder folder;
  NnUNetRawFiles::write<std::uint8_t>(folder / "a.nii", small, some_value);
  const fs::path record = folder / "out/a.json";
  const std::vector<std::pair<std::string, std::string>> forgeries{
      {"extent", "[80, 9, 10]"},
      {"extent", "[8, 9, 9]"},
      {"crop_begin", "[0, -1, 0]"},
      {"crop_begin", "[8, 0, 0]"},
      {"crop_end", "[8, 9, 11]"},
      {"original_extent", "[8, 8, 10]"},
      {"original_extent", "[1099511627776, 9, 10]"}};
  for (const auto& [key, value] : forgeries) {
    CAPTURE(key);
    CAPTURE(value);
    kept(folder, folder / "a.nii");
    REQUIRE(kept(folder, folder / "a.nii"));
    const std::string good = bytes_in(record);
    std::string forged = good;
    const std::size_t at = forged.find('[', forged.find('"' + key + '"'));
    forged.replace(at, forged.find(']', at) + 1 - at, value);
    put(record, forged);
    CHECK(!kept(folder, folder / "a.nii"));
    CHECK(bytes_in(record) == good);
  }
}

TEST_CASE("a record of another version, or that is none, vouches for nothing") {
  const TemporaryFolder folder;
  NnUNetRawFiles::write<std::uint8_t>(folder / "a.nii", small, some_value);
  kept(folder, folder / "a.nii");
  const fs::path record = folder / "out/a.json";
  const std::string good = bytes_in(record);
  for (const char* other : {"", "{}", "[1]", "{\"prepared_case\": 0}", "{\"prepared_case\": "}) {
    CAPTURE(other);
    put(record, other);
    CHECK(!kept(folder, folder / "a.nii"));
    CHECK(bytes_in(record) == good);
  }
}

TEST_CASE("a label or channel that lies elsewhere than its image is told, by later runs, too") {
  const NnUNetRawFiles files;
  const TemporaryFolder folder;
  VolumeInfo info = NnUNetRawFiles::info_of(2, DType::uint8);
  info.affine[3] += 10;
  NnUNetRawFiles::write<std::uint8_t>(
      files.label(2), info, [](std::int64_t z, std::int64_t, std::int64_t) { return z % 3; });
  info = NnUNetRawFiles::info_of(1, DType::float32);
  info.affine[3] += 10;
  NnUNetRawFiles::write<float>(files.image(1, 1), info,
                               [](std::int64_t z, std::int64_t, std::int64_t) { return z + 1; });
  for (int run = 0; run < 2; ++run) {
    const auto made = prepare_cases(cases_of(files), {}, options_for(folder));
    REQUIRE(made.size() == 4);
    for (std::size_t i = 0; i < made.size(); ++i)
      CHECK(made[i].placed_together == (i == 0 || i == 3));
  }
}

TEST_CASE("a Zarr array of thousands of chunks is kept, and noticed where one changes") {
  const TemporaryFolder folder;
  const fs::path array = folder / (std::string(200, 'n') + ".zarr");
  fs::create_directory(array);
  put(array / ".zarray",
      R"({"zarr_format": 2, "shape": [16, 16, 16], "chunks": [1, 1, 1], "dtype": "|u1",
          "compressor": null, "filters": null, "fill_value": 0, "order": "C"})");
  for (int i = 0; i < 16 * 16 * 16; ++i) {
    put(array / (std::to_string(i / 256) + "." + std::to_string(i / 16 % 16) + "." +
                 std::to_string(i % 16)),
        std::string(1, static_cast<char>(1 + i % 100)));
  }
  CHECK(!kept(folder, array));
  CHECK(kept(folder, array));
  CHECK(fs::file_size(folder / "out/a.json") < 4096);
  const fs::path chunk = array / "7.3.2";
  fs::last_write_time(chunk, fs::last_write_time(chunk) + std::chrono::seconds(1));
  CHECK(!kept(folder, array));
  fs::remove(chunk);
  CHECK(!kept(folder, array));
  CHECK(kept(folder, array));
}

TEST_CASE(
    "a chunk of a Zarr array that another of its size and time takes the place of is noticed") {
  const TemporaryFolder folder;
  const fs::path array = folder / "a.zarr";
  fs::create_directory(array);
  put(array / ".zarray",
      R"({"zarr_format": 2, "shape": [4, 4, 4], "chunks": [1, 4, 4], "dtype": "|u1",
          "compressor": null, "filters": null, "fill_value": 0, "order": "C"})");
  for (int i = 0; i < 4; ++i)
    put(array / (std::to_string(i) + ".0.0"), std::string(16, static_cast<char>(i + 1)));
  CHECK(!kept(folder, array));
  CHECK(kept(folder, array));
  const fs::path chunk = array / "2.0.0";
  const auto time = fs::last_write_time(chunk);
  put(chunk, std::string(16, 'x'));
  fs::last_write_time(chunk, time);
  CHECK(!kept(folder, array));
}

TEST_CASE("how many files were changed since they were prepared is said") {
  const NnUNetRawFiles files;
  const TemporaryFolder folder;
  PrepareOptions options = options_for(folder);
  std::vector<std::int64_t> said;
  options.on_changed = [&](std::int64_t changed) { said.push_back(changed); };
  prepare_cases(cases_of(files), {}, options);
  prepare_cases(cases_of(files), {}, options);
  CHECK(said.empty());
  for (const fs::path& file : {files.label(1), files.label(2), cases_of(files)[2].images[0]})
    fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(1));
  CHECK(prepare_cases(cases_of(files), {}, options).size() == 4);
  CHECK(said == std::vector<std::int64_t>{3});
  prepare_cases(cases_of(files), {}, options);
  CHECK(said.size() == 1);
}

TEST_CASE("of a pair either file that changes is noticed, whichever is named") {
  for (const bool packed : {false, true})
    for (const char* named : {".hdr", ".img"}) {
      CAPTURE(packed);
      CAPTURE(named);
      const TemporaryFolder folder;
      const std::string gz = packed ? ".gz" : "";
      auto [header, voxels] = pair_of(folder);
      const auto write = packed ? put_packed : put;
      write(folder / ("a.hdr" + gz), header);
      write(folder / ("a.img" + gz), voxels);
      const fs::path image = folder / (std::string("a") + named + gz);
      CHECK(!kept(folder, image));
      CHECK(kept(folder, image));
      voxels[300] = static_cast<char>(voxels[300] ^ 1);
      write(folder / ("a.img" + gz), voxels);
      CHECK(!kept(folder, image));
      header[150] = 'd';  // of its description
      write(folder / ("a.hdr" + gz), header);
      CHECK(!kept(folder, image));
      CHECK(kept(folder, image));
    }
}

}  // namespace headrace::test
