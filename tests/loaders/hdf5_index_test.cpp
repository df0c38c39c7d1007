#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/detail/hdf5_dataset.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/hdf5_files.h>
#include <headrace/tests/loaders/hdf5_matrix.h>
#include <headrace/tests/support/temporary_folder.h>

#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

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

Hdf5Table open(const fs::path& path, bool keep = true, LogCallback log = {}) {
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
  const auto before = gathered(open(path, false), indices);
  CHECK_FALSE(fs::exists(kept));
  CHECK(gathered(open(path), indices) == before);
  REQUIRE(fs::exists(kept));
  const auto written = fs::last_write_time(kept);
  CHECK(gathered(open(path), indices) == before);
  CHECK(fs::last_write_time(kept) == written);
}

TEST_CASE("a kept index of another state of the file is not believed") {
  const TemporaryFolder folder;
  const auto path = many_chunks(folder);
  const auto indices = scattered(6000, 300);
  open(path);
  const auto kept = ChunkIndexFile::path_of(path);
  const auto stale = fs::last_write_time(kept);
  // Same name, same size or not, other contents: all chunks lie elsewhere.
  write_matrix_file(path, {"", {6000, 8}, {2, 8}, {1}},
                    {"", H5::PredType::STD_I32LE, H5::PredType::NATIVE_INT32});
  const auto expected = pick(h5dread(path, "x", H5::PredType::NATIVE_INT32), 32, indices);
  CHECK(gathered(open(path), indices)[0] == expected);
  CHECK(fs::last_write_time(kept) > stale);
}

TEST_CASE("a kept index with the file's size and time but other contents is not believed") {
  const TemporaryFolder folder;
  const auto path = many_chunks(folder);
  open(path);
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

TEST_CASE("a damaged kept index is built anew, wherever the damage is") {
  const TemporaryFolder folder;
  const auto path = many_chunks(folder);
  const auto indices = scattered(6000, 300);
  const auto expected = gathered(open(path), indices);
  const auto kept = ChunkIndexFile::path_of(path);
  const auto size = static_cast<std::streamoff>(fs::file_size(kept));
  for (const std::streamoff at : {std::streamoff{0}, std::streamoff{9}, std::streamoff{40},
                                  std::streamoff{90}, size / 2, size - 2}) {
    CAPTURE(at);
    flip_byte(kept, at);
    CHECK(gathered(open(path), indices) == expected);
  }
  for (const std::uintmax_t bytes : {0U, 5U, 11U, 30U, 1000U}) {
    fs::resize_file(kept, bytes);
    CHECK(gathered(open(path), indices) == expected);
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
      open(path, true, [&](LogLevel, std::string_view line) { log.emplace_back(line); });
  CHECK(std::ranges::count_if(log, [](const std::string& line) {
          return contains(line, "could not be kept beside the file");
        }) == 1);
  CHECK(gathered(table, scattered(6000, 10)) == gathered(open(path, false), scattered(6000, 10)));
}

}  // namespace headrace::test
