#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/zarr_volume.h>
#include <headrace/tests/loaders/file_bytes.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/volume/volume_stores.h>
#include <headrace/tests/support/temporary_folder.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using namespace headrace::test;
namespace fs = std::filesystem;

namespace {

std::string replaced(std::string text, const std::string& before, const std::string& after) {
  const auto at = text.find(before);
  if (at == std::string::npos) throw std::runtime_error("nothing to replace: " + before);
  return text.replace(at, before.size(), after);
}

const std::string v2 =
    R"({"zarr_format":2,"shape":[4,5,6],"chunks":[2,5,6],"dtype":"<u2","compressor":null,)"
    R"("fill_value":0,"order":"C","filters":null})";
const std::string v3 =
    R"({"zarr_format":3,"node_type":"array","shape":[4,5,6],"data_type":"uint16",)"
    R"("chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4,5,6]}},)"
    R"("chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":["bytes"],)"
    R"("attributes":{}})";
const std::string sharding =
    R"([{"name":"sharding_indexed","configuration":{"chunk_shape":[2,5,6],"codecs":["bytes"],)"
    R"("index_codecs":["bytes"],"index_location":"start"}}])";

/// What is said of an array whose metadata are those.
std::string metadata_refusal(const std::string& metadata, const VolumeLimits& limits = {}) {
  const TemporaryFolder folder;
  make_file(
      folder / (metadata.find("\"zarr_format\":3") == std::string::npos ? ".zarray" : "zarr.json"),
      metadata);
  const std::string message =
      message_of<DataError>([&] { open_zarr_volume(folder.path(), limits); });
  CHECK(contains(message, "[volume] " + folder.path().string() + ": "));
  return message;
}

std::string read_refusal(const fs::path& folder, const VolumeIndex& place = {}) {
  const auto volume = open_zarr_volume(folder);
  std::vector<std::byte> block(volume->info().block_bytes());
  return message_of<DataError>([&] { volume->read_block(place, block); });
}

/// Some file of an array that is no metadata.
fs::path file_of_chunks(const fs::path& array) {
  for (const auto& entry : fs::recursive_directory_iterator(array)) {
    if (entry.is_regular_file() && entry.path().filename().string()[0] != '.' &&
        entry.path().extension() != ".json")
      return entry.path();
  }
  throw std::runtime_error("no chunks in " + array.string());
}

/// Whether the first block is read, else a DataError says why not.
bool reads(const fs::path& array) {
  try {
    const auto volume = open_zarr_volume(array);
    std::vector<std::byte> block(volume->info().block_bytes());
    volume->read_block({}, block);
    return true;
  } catch (const DataError&) {
  } catch (const ConfigError&) {
    if (has_blosc) throw;
  }
  return false;
}

}  // namespace

TEST_CASE("metadata of version 2 that break a rule are refused by its name") {
  const auto tried = [](const std::string& before, const std::string& after) {
    return metadata_refusal(replaced(v2, before, after));
  };
  CHECK(contains(tried("[4,5,6]", "[-4,5,6]"), "whole numbers from 1 on"));
  CHECK(contains(tried("[4,5,6]", "[0,5,6]"), "whole numbers from 1 on"));
  CHECK(contains(tried("[4,5,6]", "[4.5,5,6]"), "whole numbers"));
  CHECK(contains(tried("[4,5,6]", "[18446744073709551615,5,6]"), "whole numbers"));
  CHECK(contains(tried("[4,5,6]", "[1099511627776,5,6]"), "the extent along z"));
  CHECK(contains(tried("[4,5,6]", "[4]"), "a list of 2 to 5"));
  CHECK(contains(tried("[4,5,6]", "[2,2,2,4,5,6]"), "a list of 2 to 5"));
  CHECK(contains(tried("[4,5,6]", "\"x\""), "\"shape\""));
  CHECK(contains(tried("[2,5,6]", "[2,5]"), "\"chunks\""));
  CHECK(contains(tried("[2,5,6]", "[2,0,6]"), "\"chunks\""));
  CHECK(contains(tried("[2,5,6]", "[1099511627776,1099511627776,6]"), "a block along z"));
  CHECK(contains(tried("[2,5,6]", "[4096,4096,4096]"), "voxels in a block"));
  CHECK(contains(tried("\"<u2\"", "\"<c8\""), "the type must be a number or boolean"));
  CHECK(contains(tried("\"<u2\"", "[[\"a\",\"<u2\"]]"), "\"dtype\" must be text"));
  CHECK(contains(tried("null,\"fill", R"({"id":"snappy"},"fill)"), "got \"snappy\""));
  CHECK(contains(tried("\"filters\":null", R"("filters":[{"id":"delta"}])"), "without filters"));
  CHECK(contains(tried("\"C\"", "\"K\""), "\"order\""));
  CHECK(
      contains(tried("\"fill_value\":0", "\"fill_value\":-1"), "fill value must be one of uint16"));
  CHECK(contains(tried("\"fill_value\":0", "\"fill_value\":\"NaN\""), "fill value"));
  CHECK(contains(tried("\"fill_value\":0", "\"fill_value\":\"-7\""), "got -7"));
  CHECK(contains(tried("\"zarr_format\":2", "\"zarr_format\":1"), "\"zarr_format\" must be 2"));
}

TEST_CASE("a chunk that was not fetched is no chunk of the fill value") {
  const TemporaryFolder folder;
  std::ofstream(folder / ".zarray") << v2;
  CHECK(reads(folder.path()));
  fs::create_symlink("../annex/objects/x", folder / "0.0.0");
  const auto volume = open_zarr_volume(folder.path());
  std::vector<std::byte> block(volume->info().block_bytes());
  CHECK_THROWS_WITH_AS(volume->read_block({}, block),
                       doctest::Contains("is a link that leads nowhere; fetch what it names"),
                       DataError);
}

TEST_CASE("a fill value that is a number in quotes, as z5py writes it, is that number") {
  const TemporaryFolder folder;
  make_file(folder / ".zarray", replaced(v2, "\"fill_value\":0", "\"fill_value\":\"7\""));
  const auto volume = open_zarr_volume(folder.path());
  std::vector<std::byte> block(volume->info().block_bytes());
  volume->read_block({}, block);
  CHECK(block.front() == std::byte{7});
  CHECK(block.back() == std::byte{0});  // of 7 as uint16
}

TEST_CASE("metadata of version 3 that break a rule are refused by its name") {
  const auto tried = [](const std::string& before, const std::string& after) {
    return metadata_refusal(replaced(v3, before, after));
  };
  CHECK(contains(tried("\"regular\"", "\"rectilinear\""), "\"chunk_grid\" must be regular"));
  CHECK(contains(tried("[\"bytes\"]", "[]"), "1 to 16 codecs"));
  CHECK(contains(tried("[\"bytes\"]", "[\"zstd\"]"), "bytes must come before"));
  CHECK(contains(tried("[\"bytes\"]", "[\"bytes\",\"vlen\"]"), "got \"vlen\""));
  CHECK(contains(tried("[\"bytes\"]", "[\"bytes\",\"bytes\"]"), "got \"bytes\""));
  CHECK(contains(tried("[\"bytes\"]", R"([{"name":"bytes","configuration":{"endian":"odd"}}])"),
                 "\"endian\""));
  CHECK(contains(
      tried("\"bytes\"", R"({"name":"transpose","configuration":{"order":[0,1,1]}},"bytes")"),
      "each axis once"));
  CHECK(contains(
      tried("\"bytes\"", R"({"name":"transpose","configuration":{"order":[0,1,9]}},"bytes")"),
      "each axis once"));
  CHECK(contains(tried("\"attributes\"", "\"extra\":{},\"attributes\""), "no extension"));
  CHECK(contains(tried("\"uint16\"", "\"complex64\""), "the type must be"));
  CHECK(contains(tried("\"default\"", "\"fanout\""), "\"chunk_key_encoding\""));
  CHECK(contains(tried("\"array\"", "\"group\""), "OME-Zarr image"));

  const std::string sharded = replaced(v3, "[\"bytes\"]", sharding);
  CHECK(
      contains(metadata_refusal(replaced(sharded, "[2,5,6]", "[3,5,6]")), "must divide the shard"));
  CHECK(contains(metadata_refusal(replaced(sharded, "[\"bytes\"],\"index_codecs\"",
                                           sharding + ",\"index_codecs\"")),
                 "each in its place, got \"sharding_indexed\""));
  CHECK(contains(metadata_refusal(replaced(sharded, "\"start\"", "\"middle\"")),
                 "\"index_location\""));
  CHECK(contains(metadata_refusal(replaced(sharded, "\"index_codecs\":[\"bytes\"]",
                                           "\"index_codecs\":[\"bytes\",\"gzip\"]")),
                 "\"index_codecs\" must be bytes and crc32c"));
  const std::string many = replaced(replaced(sharded, "[2,5,6]", "[1,1,1]"),
                                    "\"chunk_shape\":[4,5,6]", "\"chunk_shape\":[4194304,5,6]");
  CHECK(contains(metadata_refusal(many), "chunks in a shard"));
}

TEST_CASE("metadata may be neither deep nor large") {
  const std::string deep(100000, '[');
  CHECK(contains(metadata_refusal("{\"zarr_format\":2,\"x\":" + deep), "nest at most 32 deep"));
  std::string many = "{\"zarr_format\":2,\"x\":[0";
  for (int i = 0; i < (1 << 20); ++i)
    many += ",0";
  CHECK(contains(metadata_refusal(many + "]}"), "at most a million values"));
  CHECK(contains(metadata_refusal(v2, {.metadata_bytes = 64}), "at most 64 bytes"));
  CHECK(contains(metadata_refusal("{\"zarr_format\":2"), "must be JSON"));
  CHECK(contains(metadata_refusal("[]"), "must be a JSON object"));
}

TEST_CASE("a group leads to no array outside it") {
  const TemporaryFolder folder;
  const fs::path group = folder / "group";
  make_file(folder / "other" / ".zarray", v2);
  make_file(group / ".zgroup", R"({"zarr_format":2})");
  fs::create_directory_symlink(folder / "other", group / "link");
  fs::create_directories(group / "empty");
  const auto tried = [&](const std::string& path) {
    make_file(group / ".zattrs", R"({"multiscales":[{"datasets":[{"path":")" + path + "\"}]}]}");
    return message_of<DataError>([&] { open_zarr_volume(group); });
  };
  CHECK(contains(tried("../other"), "must lead down from its group, got \"../other\""));
  CHECK(contains(tried("empty/../../other"), "must lead down"));
  CHECK(contains(tried((folder / "other").string()), "must lead down"));
  CHECK(contains(tried(""), "must lead down"));
  CHECK(contains(tried("link"), "a link leads out of it"));
  CHECK(contains(tried("nothing"), "there is none"));
  CHECK(contains(tried("empty"), "must be an array, got none"));
  make_file(group / ".zattrs", R"({"multiscales":[{"datasets":[]}]})");
  CHECK(contains(message_of<DataError>([&] { open_zarr_volume(group); }), "\"datasets\""));
  make_file(group / ".zattrs", "{}");
  CHECK(contains(message_of<DataError>([&] { open_zarr_volume(group); }), "OME-Zarr image"));
}

TEST_CASE("axes, units and steps of an image must be known") {
  const TemporaryFolder folder;
  make_file(folder / "0/.zarray", v2);
  const auto tried = [&](const std::string& axes, const std::string& steps = "[]") {
    make_file(folder / ".zattrs", R"({"multiscales":[{"axes":)" + axes +
                                      R"(,"datasets":[{"path":"0","coordinateTransformations":)" +
                                      steps + "}]}]}");
    return message_of<DataError>([&] { open_zarr_volume(folder.path()); });
  };
  const std::string zyx = R"(["z","y","x"])";
  CHECK(contains(tried(R"(["z","y"])"), "must name the array's 3 axes"));
  CHECK(contains(tried(R"(["z","z","x"])"), "each once"));
  CHECK(contains(tried(R"(["t","y","x"])"), "the axis t must have one element, got 4"));
  CHECK(contains(tried(R"([{"name":"z","unit":"volt"},"y","x"])"), "one of length"));
  CHECK(contains(tried(zyx, R"([{"type":"scale","scale":[1,2]}])"), "a list of 3 numbers"));
  CHECK(contains(tried(zyx, R"([{"type":"affine"}])"), "must be scale or translation"));
  CHECK(contains(tried(zyx, R"([{"type":"scale","scale":[1,0,1]}])"), "spacing must be above 0"));
  CHECK(contains(tried(zyx, R"([{"type":"scale","scale":[1e300,1e300,1]},)"
                            R"({"type":"scale","scale":[1e300,1e300,1]}])"),
                 "spacing"));
}

TEST_CASE("chunks that are not what they should be are refused by file") {
  const TemporaryFolder folder;
  make_file(folder / ".zarray", v2);
  make_file(folder / "0.0.0", std::string(119, 'x'));
  CHECK(contains(read_refusal(folder.path()), "file 0.0.0: a chunk decodes to 119 bytes, it has"));
  make_file(folder / "0.0.0", std::string(1 << 20, 'x'));
  CHECK(contains(read_refusal(folder.path()), "bytes stored, got 1048576"));
  fs::remove(folder / "0.0.0");
  fs::create_directory(folder / "0.0.0");
  CHECK(contains(read_refusal(folder.path()), "must be a regular file"));
  make_file(folder / "secret/x", std::string(120, 'x'));
  const TemporaryFolder outside;
  make_file(outside / "x", std::string(120, 'x'));
  fs::create_symlink(outside / "x", folder / "1.0.0");
  CHECK(contains(read_refusal(folder.path(), {0, 1, 0, 0}), "a link leads out of it"));

  const auto volume = open_zarr_volume(folder.path());
  fs::remove(folder / "1.0.0");
  std::vector<std::byte> block(volume->info().block_bytes());
  CHECK(volume->read_block({0, 1, 0, 0}, block) == 0);
  fs::remove(folder / ".zarray");
  CHECK(contains(message_of<DataError>([&] {
                   volume->read_block({0, 1, 0, 0}, block);
                 }),
                 "its metadata are gone"));
}

TEST_CASE("every codec takes every cut of a chunk, and any byte of it changed") {
  const TemporaryFolder folder;
  std::int64_t read = 0;
  for (const StoredVolume& stored : unpack_stores("zarr", folder.path())) {
    if (stored.path.starts_with("ome")) continue;
    CAPTURE(stored.path);
    const fs::path file = file_of_chunks(folder / stored.path);
    const std::vector<std::byte> sound = file_bytes(file);
    for (std::size_t at = 0; at < sound.size(); at += 1 + sound.size() / 9) {
      std::vector<std::byte> bytes = sound;
      bytes[at] ^= std::byte{0xff};
      write_bytes(file, bytes);
      read += reads(folder / stored.path) ? 1 : 0;
      bytes.resize(at);
      write_bytes(file, bytes);
      read += reads(folder / stored.path) ? 1 : 0;
    }
  }
  CHECK(read > 0);
}

TEST_CASE("an index of a shard that lies is refused") {
  const TemporaryFolder folder;
  make_file(folder / "zarr.json", replaced(v3, "[\"bytes\"]", sharding));
  const std::string chunk(120, 'x');
  const std::uint64_t none = ~std::uint64_t{0};
  const auto tried = [&](const std::vector<std::uint64_t>& numbers) {
    std::string bytes;
    for (const std::uint64_t number : numbers)
      bytes += little_endian(number);
    make_file(folder / "c/0/0/0", bytes + chunk);
    return read_refusal(folder.path());
  };
  CHECK(contains(tried({32, 200, none, none}), "chunk 0 has 200 bytes from 32 on, the file has"));
  CHECK(contains(tried({1000, 1, none, none}), "from 1000 on"));
  CHECK(contains(tried({none - 8, 120, none, none}), "the file is damaged"));
  CHECK(contains(tried({32, none, none, none}), "the file is damaged"));
  CHECK(contains(tried({32, 119, none, none}), "decodes to 119 bytes"));
  CHECK(contains(tried({32, 120, 0, none}), "chunk 1"));
  make_file(folder / "c/0/0/0", "short");
  CHECK(contains(read_refusal(folder.path()), "an index of 32 bytes, the file has 5"));

  make_file(folder / "zarr.json",
            replaced(replaced(v3, "[\"bytes\"]", sharding), "\"index_codecs\":[\"bytes\"]",
                     "\"index_codecs\":[\"bytes\",\"crc32c\"]"));
  CHECK(contains(tried({36, 120, none, none}), "another checksum"));
}
