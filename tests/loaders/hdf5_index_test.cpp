#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/loaders/hdf5/internal/hdf5_dataset.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/hdf5_files.h>
#include <headrace/tests/loaders/hdf5_matrix.h>
#include <headrace/tests/support/peak_memory.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <unistd.h>

namespace headrace::test {
namespace {

namespace fs = std::filesystem;
using detail::ChunkIndexFile;

/// 3000 chunks: enough to be kept.
fs::path many_chunks(const TemporaryFolder& folder, hsize_t user_block = 0) {
  auto path = folder / "many.h5";
  write_matrix_file(path, {"", {6000, 8}, {2, 8}, {2, 1}, false, false, false, false, user_block},
                    {"", H5::PredType::STD_I32LE, H5::PredType::NATIVE_INT32});
  return path;
}

Hdf5Table open_indexed(const fs::path& path, bool keep = true, LogCallback log = {}) {
  return Hdf5Table({.file = path,
                    .fields = {{.dataset = "x"}},
                    .memory = 1_MiB,
                    .residence = Residence::pread,
                    .log = std::move(log),
                    .keep_index = keep});
}

void flip_byte(const fs::path& path, std::streamoff at) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(at);
  const auto byte = static_cast<char>(file.get() ^ 0x55);
  file.seekp(at);
  file.put(byte);
}

/// Exchanges a byte and one behind it.
void swap_bytes(const fs::path& path, std::streamoff at, std::streamoff apart) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(at);
  const auto first = static_cast<char>(file.get());
  file.seekg(at + apart);
  const auto second = static_cast<char>(file.get());
  file.seekp(at);
  file.put(second);
  file.seekp(at + apart);
  file.put(first);
}

/// Of the first dataset in an index file.
std::string key_in(const fs::path& kept) {
  std::ifstream file(kept, std::ios::binary);
  std::uint32_t length = 0;
  file.seekg(44);
  file.read(reinterpret_cast<char*>(&length), sizeof length);
  std::string key(std::min(length, 1000U), '\0');
  file.read(key.data(), static_cast<std::streamsize>(key.size()));
  return key;
}

using Places = std::vector<detail::ChunkPlace>;

/// What the index file beside `path` has for a key, if it is believed.
Places places_in(const fs::path& path, const std::string& key) {
  ChunkIndexFile file(path, detail::Hdf5File(path).identity());
  const auto* found = file.find(key, 3000);
  return found != nullptr ? *found : Places();
}

}  // namespace

TEST_CASE("the index says where H5Dget_chunk_info_by_coord says, user block added") {
  for (const hsize_t block : {hsize_t{0}, hsize_t{1024}}) {
    const TemporaryFolder folder;
    const auto path = many_chunks(folder, block);
    const detail::Hdf5File file(path);
    detail::ChunkIndexes indexes(file, false);
    const auto dataset =
        detail::describe_dataset(file, {.field = "x", .path = "x", .memory = 1_MiB}, indexes);
    REQUIRE(dataset.chunks);
    const H5::H5File plain(path.c_str(), H5F_ACC_RDONLY);
    const H5::DataSet data = plain.openDataSet("x");
    for (std::size_t chunk = 0; chunk < dataset.chunks->places.size(); chunk += 97) {
      const auto first = dataset.chunks->grid.origin(chunk);
      const hsize_t offset[2] = {first[0], first[1]};
      unsigned mask = 0;
      haddr_t address = 0;
      hsize_t bytes = 0;
      H5Dget_chunk_info_by_coord(data.getId(), offset, &mask, &address, &bytes);
      CHECK(dataset.chunks->places[chunk] ==
            detail::ChunkPlace{address + block, static_cast<std::uint32_t>(bytes), mask});
    }
  }
}

TEST_CASE("an index that another machine writes under this process's number stays") {
  const TemporaryFolder folder;
  const auto path = many_chunks(folder);
  constexpr int numbers = 100;
  for (int i = 0; i < numbers; ++i)
    std::ofstream(folder / ("many.h5.headrace-index.partial." + std::to_string(::getpid()) + "." +
                            std::to_string(i)))
        << "x";
  const auto in_folder = [&] {
    return std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator());
  };
  open_indexed(path);
  CHECK(fs::exists(folder / "many.h5.headrace-index"));
  CHECK(in_folder() == numbers + 2);
}

TEST_CASE("places out of the file, and sizes that cannot be, are refused") {
  const auto refused = [](detail::ChunkPlace place, std::size_t exact) {
    return message_of<DataError>([&] { detail::require_places({{}, place}, 1000, exact, 200); });
  };
  CHECK(refused({900, 100, 0}, 0).empty());
  CHECK(refused({900, 100, 0}, 100).empty());
  CHECK(contains(refused({901, 100, 0}, 0), "at 901"));
  CHECK(contains(refused({~std::uint64_t{0}, 100, 0}, 0), "truncated"));
  CHECK(contains(refused({0, 201, 0}, 0), "at most 200"));
  CHECK(contains(refused({0, 99, 0}, 100), "exactly 100"));
}

TEST_CASE("a long index is kept beside the file and used again") {
  const TemporaryFolder folder;
  const auto path = many_chunks(folder);
  const auto kept = ChunkIndexFile::path_of(path);
  const auto indices = scattered(6000, 300);
  const auto before = gathered(open_indexed(path, false), indices);
  CHECK_FALSE(fs::exists(kept));
  CHECK(gathered(open_indexed(path), indices) == before);
  REQUIRE(fs::exists(kept));
  const auto written = fs::last_write_time(kept);
  CHECK(gathered(open_indexed(path), indices) == before);
  CHECK(fs::last_write_time(kept) == written);
}

TEST_CASE("a kept index of another state of the file is not believed") {
  const TemporaryFolder folder;
  const auto path = many_chunks(folder);
  const auto indices = scattered(6000, 300);
  open_indexed(path);
  const auto kept = ChunkIndexFile::path_of(path);
  const auto stale = fs::last_write_time(kept) - std::chrono::hours(1);
  fs::last_write_time(kept, stale);
  // Same name, same size or not, other contents: all chunks lie elsewhere.
  write_matrix_file(path, {"", {6000, 8}, {2, 8}, {1}},
                    {"", H5::PredType::STD_I32LE, H5::PredType::NATIVE_INT32});
  const auto expected = pick(h5dread(path, "x", H5::PredType::NATIVE_INT32), 32, indices);
  CHECK(gathered(open_indexed(path), indices)[0] == expected);
  CHECK(fs::last_write_time(kept) > stale);
}

TEST_CASE("a kept index with the file's size and time but other contents is not believed") {
  const TemporaryFolder folder;
  const auto path = many_chunks(folder);
  open_indexed(path);
  const auto time = fs::last_write_time(path);
  const detail::FileIdentity before = detail::Hdf5File(path).identity();
  flip_byte(path, static_cast<std::streamoff>(fs::file_size(path)) - 1);
  fs::last_write_time(path, time);
  const detail::FileIdentity after = detail::Hdf5File(path).identity();
  CHECK(after.bytes == before.bytes);
  CHECK(after.changed_ns == before.changed_ns);
  CHECK_FALSE(after == before);
  CHECK(ChunkIndexFile(path, before).find("", 0) == nullptr);
}

TEST_CASE("an index whose places are mixed up is built anew, though its checksums are right") {
  const TemporaryFolder folder;
  const auto path = many_chunks(folder);
  const auto indices = scattered(6000, 300);
  const auto expected = gathered(open_indexed(path), indices);
  const auto identity = detail::Hdf5File(path).identity();
  const std::string key = key_in(ChunkIndexFile::path_of(path));
  const auto places = places_in(path, key);
  REQUIRE(places.size() == 3000);
  std::vector<Places> forgeries(4, places);
  std::ranges::reverse(forgeries[0]);
  std::ranges::rotate(forgeries[1], forgeries[1].begin() + 1);
  for (std::size_t i = 0; i + 1 < places.size(); i += 8)
    std::swap(forgeries[2][i], forgeries[2][i + 1]);
  forgeries[3].assign(3000, places[7]);
  forgeries.push_back(places);
  forgeries.back()[5].offset = fs::file_size(path);
  for (const auto& forged : forgeries) {
    ChunkIndexFile file(path, identity);
    file.put(key, forged);
    REQUIRE(file.save().empty());
    CHECK(places_in(path, key) == (forged == forgeries.back() ? Places() : forged));
    CHECK(gathered(open_indexed(path), indices) == expected);
    CHECK(places_in(path, key) == places);
  }
}

TEST_CASE("a seal binds an index to its dataset, its places and the data there") {
  const TemporaryFolder folder;
  const auto path = many_chunks(folder);
  const auto kept = ChunkIndexFile::path_of(path);
  open_indexed(path);
  const std::string key = key_in(kept);
  const auto places = places_in(path, key);
  REQUIRE(places.size() == 3000);
  CHECK(places_in(path, key + ",").empty());
  CHECK(ChunkIndexFile(path, detail::Hdf5File(path).identity()).find(key, 2999) == nullptr);

  // Two neighbours change places in the index.
  const auto end = static_cast<std::streamoff>(fs::file_size(kept));
  for (std::streamoff i = 0; i < 16; ++i)
    swap_bytes(kept, end - 32 + i, 16);
  CHECK(places_in(path, key).empty());
  open_indexed(path);
  CHECK(places_in(path, key) == places);

  // The data of chunks that are looked at change, in a file of the same size, time, beginning and
  // end.
  const auto time = fs::last_write_time(path);
  const auto before = detail::Hdf5File(path).identity();
  constexpr std::uint64_t ends = 64 << 10;
  for (std::size_t i = 0; i < 32; ++i) {
    const auto at = places[(2 * i + 1) * 3000 / 64].offset;
    if (at > ends && at + ends < fs::file_size(path))
      flip_byte(path, static_cast<std::streamoff>(at));
  }
  fs::last_write_time(path, time);
  REQUIRE(detail::Hdf5File(path).identity() == before);
  CHECK(places_in(path, key).empty());
}

TEST_CASE("an index file of 4 GB that is none costs nothing, whatever it begins with") {
  const TemporaryFolder folder;
  const auto path = many_chunks(folder);
  const auto indices = scattered(6000, 50);
  const auto expected = gathered(open_indexed(path), indices);
  const auto kept = ChunkIndexFile::path_of(path);
  // All but the places; head; magic and identity; magic; nothing.
  for (const std::uintmax_t bytes : {fs::file_size(kept) - 3000 * 16, std::uintmax_t{44},
                                     std::uintmax_t{36}, std::uintmax_t{8}, std::uintmax_t{0}}) {
    CAPTURE(bytes);
    open_indexed(path);
    fs::resize_file(kept, bytes);
    fs::resize_file(kept, std::uintmax_t{4} << 30);
    CHECK(peak_growth([&] { CHECK(gathered(open_indexed(path), indices) == expected); }) <
          64 << 20);
    CHECK(fs::file_size(kept) < 1 << 20);
  }
}

TEST_CASE("a damaged kept index is built anew, wherever the damage is") {
  const TemporaryFolder folder;
  const auto path = many_chunks(folder);
  const auto indices = scattered(6000, 300);
  const auto expected = gathered(open_indexed(path), indices);
  const auto kept = ChunkIndexFile::path_of(path);
  const auto size = static_cast<std::streamoff>(fs::file_size(kept));
  for (const std::streamoff at : {std::streamoff{0}, std::streamoff{9}, std::streamoff{40},
                                  std::streamoff{90}, size / 2, size - 2}) {
    CAPTURE(at);
    flip_byte(kept, at);
    CHECK(gathered(open_indexed(path), indices) == expected);
  }
  for (const std::uintmax_t bytes : {0U, 5U, 11U, 30U, 1000U}) {
    fs::resize_file(kept, bytes);
    CHECK(gathered(open_indexed(path), indices) == expected);
  }
}

TEST_CASE("a folder that cannot be written costs one line of the log") {
  const TemporaryFolder folder;
  const auto path = many_chunks(folder);
  // A folder in the place of the index cannot be replaced, by root neither.
  fs::create_directory(ChunkIndexFile::path_of(path));
  std::ofstream(ChunkIndexFile::path_of(path) / "full") << "x";
  std::vector<std::string> log;
  const Hdf5Table table =
      open_indexed(path, true, [&](LogLevel, std::string_view line) { log.emplace_back(line); });
  CHECK(std::ranges::count_if(log, [](const std::string& line) {
          return contains(line, "could not be kept beside the file");
        }) == 1);
  CHECK(gathered(table, scattered(6000, 10)) ==
        gathered(open_indexed(path, false), scattered(6000, 10)));
}

}  // namespace headrace::test
