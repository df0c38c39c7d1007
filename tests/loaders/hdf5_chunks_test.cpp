#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/hdf5_files.h>
#include <headrace/tests/loaders/hdf5_matrix.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

std::vector<std::int64_t> every_and_scattered(std::int64_t rows) {
  std::vector<std::int64_t> indices = scattered(rows, 90);
  for (std::int64_t i = 0; i < rows; ++i)
    indices.push_back(i);
  return indices;
}

Hdf5Table open_chunked(const std::filesystem::path& path, Residence residence, std::size_t memory,
                       int axes = 1) {
  return Hdf5Table({.file = path,
                    .fields = {{.name = "x", .dataset = "x"}},
                    .memory = memory,
                    .residence = residence,
                    .sample_axes = axes});
}

std::size_t chunk_bytes(const Storage& storage, const MatrixType& type) {
  return std::accumulate(storage.chunk.begin(), storage.chunk.end(), type.file.getSize(),
                         [](std::size_t a, hsize_t b) { return a * b; });
}

}  // namespace

TEST_CASE("every storage of every type gives the bytes of H5Dread") {
  const TemporaryFolder folder;
  const auto path = folder / "matrix.h5";
  for (const Storage& storage : storages()) {
    for (const MatrixType& type : matrix_types()) {
      CAPTURE(storage.name);
      CAPTURE(type.name);
      write_matrix_file(path, storage, type);
      const std::vector<std::byte> all = h5dread(path, "x", type.memory);
      for (int axes = 1; axes <= static_cast<int>(storage.extents.size()); ++axes) {
        CAPTURE(axes);
        std::int64_t rows = 1;
        for (int axis = 0; axis < axes; ++axis)
          rows *= static_cast<std::int64_t>(storage.extents[static_cast<std::size_t>(axis)]);
        const auto indices = every_and_scattered(rows);
        const std::size_t row_bytes = all.size() / static_cast<std::size_t>(rows);
        const auto expected = pick(all, row_bytes, indices);
        const Hdf5Table small =
            open_chunked(path, Residence::pread, 3 * chunk_bytes(storage, type), axes);
        const Hdf5Table large = open_chunked(path, Residence::pread, 1_MiB, axes);
        const Hdf5Table resident = open_chunked(path, Residence::resident, 1_MiB, axes);
        const Hdf5Table library = open_chunked(path, Residence::library, 1_MiB, axes);
        CHECK(small.size() == rows);
        CHECK(contains(small.notes()[0], "decoded chunk by chunk"));
        CHECK(contains(resident.notes()[0], "decoded into memory"));
        CHECK(gathered(small, indices)[0] == expected);
        CHECK(gathered(large, indices)[0] == expected);
        CHECK(gathered(large, indices)[0] == expected);  // now from the cache
        CHECK(gathered(resident, indices)[0] == expected);
        CHECK(gathered(library, indices)[0] == expected);
        CHECK(one_by_one(small, indices)[0] == expected);
      }
    }
  }
}

TEST_CASE("filters that only the library has come through it, and a note says so") {
  const TemporaryFolder folder;
  const auto path = folder / "rare.h5";
  const std::array<hsize_t, 2> extents{60, 16}, chunk{8, 16};
  const std::vector<std::byte> values = noise(60 * 16);
  std::vector<std::int32_t> numbers;
  for (const std::byte value : values)
    numbers.push_back(std::to_integer<std::int32_t>(value));
  {
    const H5::H5File file(path.c_str(), H5F_ACC_TRUNC);
    const H5::DataSpace space(2, extents.data());
    for (const char* name : {"nbit", "scale", "szip"}) {
      const H5::DSetCreatPropList creation;
      creation.setChunk(2, chunk.data());
      H5::IntType type(H5::PredType::STD_I32LE);
      if (std::string(name) == "nbit") creation.setNbit();
      if (std::string(name) == "scale")
        H5Pset_scaleoffset(creation.getId(), H5Z_SO_INT, H5Z_SO_INT_MINBITS_DEFAULT);
      if (std::string(name) == "szip") creation.setSzip(H5_SZIP_NN_OPTION_MASK, 8);
      file.createDataSet(name, type, space, creation)
          .write(numbers.data(), H5::PredType::NATIVE_INT32);
    }
  }
  const auto indices = every_and_scattered(60);
  for (const char* name : {"nbit", "scale", "szip"}) {
    CAPTURE(name);
    const auto expected = pick(h5dread(path, name, H5::PredType::NATIVE_INT32), 64, indices);
    const Hdf5Table resident({.file = path, .fields = {{"x", name}}});
    const Hdf5Table direct({.file = path, .fields = {{"x", name}}, .memory = 2048});
    CHECK(contains(resident.notes()[0], "copied into memory by the library"));
    CHECK(contains(direct.notes()[0], "rare filter: its rows come through the library"));
    CHECK(gathered(resident, indices)[0] == expected);
    CHECK(gathered(direct, indices)[0] == expected);
    CHECK_THROWS_AS(
        Hdf5Table({.file = path, .fields = {{"x", name}}, .residence = Residence::pread}),
        ConfigError);
  }
}

TEST_CASE("threads that share a small cache get the same bytes") {
  const TemporaryFolder folder;
  const auto path = folder / "threads.h5";
  const Storage storage{"", {4000, 40}, {32, 40}, {2, 1}};
  const MatrixType type{"", H5::PredType::STD_U16LE, H5::PredType::NATIVE_UINT16};
  write_matrix_file(path, storage, type);
  const auto all = h5dread(path, "x", type.memory);
  for (const std::size_t memory : {std::size_t{2560}, std::size_t{20000}, std::size_t{1} << 20}) {
    const Hdf5Table table = open_chunked(path, Residence::pread, memory);
    for (const int threads : {1, 2, 8}) {
      std::atomic<int> wrong = 0;
      {
        std::vector<std::jthread> crew;
        for (int t = 0; t < threads; ++t) {
          crew.emplace_back([&, t] {
            for (int round = 0; round < 4; ++round) {
              std::vector<std::int64_t> indices = scattered(4000, 500);
              for (std::int64_t& index : indices)
                index = (index + 97 * t + round) % 4000;
              if (gathered(table, indices)[0] != pick(all, 80, indices)) ++wrong;
            }
          });
        }
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("chunks whose rows are all taken at once do not drive others out of the cache") {
  const TemporaryFolder folder;
  const auto path = folder / "once.h5";
  const MatrixType type{"", H5::PredType::STD_U16BE, H5::PredType::NATIVE_UINT16};
  write_matrix_file(path, {"", {4000, 40}, {32, 40}, {2, 1}}, type);
  const auto all = h5dread(path, "x", type.memory);
  const Hdf5Table table = open_chunked(path, Residence::pread, 32 * 80);
  const auto rows_of = [](std::int64_t chunk) {
    std::vector<std::int64_t> rows(32);
    std::iota(rows.rbegin(), rows.rend(), 32 * chunk);
    return rows;
  };
  for (const std::int64_t chunk : {3, 4, 90})
    CHECK(gathered(table, rows_of(chunk))[0] == pick(all, 80, rows_of(chunk)));
  std::filesystem::last_write_time(
      path, std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  CHECK(gathered(table, rows_of(3))[0] == pick(all, 80, rows_of(3)));  // kept
  CHECK_THROWS_AS(gathered(table, rows_of(4)), PipelineError);         // read again
}

TEST_CASE("the cache stays within its memory") {
  const TemporaryFolder folder;
  const auto path = folder / "bound.h5";
  write_matrix_file(path, {"", {4000, 40}, {32, 40}, {1}},
                    {"", H5::PredType::STD_U8LE, H5::PredType::NATIVE_UINT8});
  const Hdf5Table table = open_chunked(path, Residence::pread, 40960);
  CHECK(table.blocking());
  CHECK(table.chunk_rows() == 32);
  CHECK(table.resident_bytes() <= 40960 + 125 * 16);
  CHECK(table.resident_bytes() > 20000);
}

TEST_CASE("what is unpacked and what of it is used is counted, kept and whole chunks alike") {
  const TemporaryFolder folder;
  const auto path = folder / "counted.h5";
  write_matrix_file(path, {"", {4000, 40}, {32, 40}, {1}},
                    {"", H5::PredType::STD_U8LE, H5::PredType::NATIVE_UINT8});
  const Hdf5Table table = open_chunked(path, Residence::pread, 40960);
  const auto read = [&](const std::vector<std::int64_t>& rows) {
    const Hdf5ChunkReads before = table.chunk_reads();
    gathered(table, rows);
    const Hdf5ChunkReads after = table.chunk_reads();
    return std::pair(after.bytes_unpacked - before.bytes_unpacked,
                     after.bytes_used - before.bytes_used);
  };
  CHECK(table.chunk_reads().bytes_unpacked == 0);
  CHECK(read({0, 32, 64}) == std::pair<std::uint64_t, std::uint64_t>(3 * 32 * 40, 3 * 40));
  CHECK(read({1, 33}) == std::pair<std::uint64_t, std::uint64_t>(0, 2 * 40));
  std::vector<std::int64_t> all(4000);
  std::iota(all.begin(), all.end(), 0);
  CHECK(read(all) == std::pair<std::uint64_t, std::uint64_t>(122 * 32 * 40, 4000 * 40));
  CHECK(open_chunked(path, Residence::resident, 1_MiB).chunk_reads().bytes_used == 0);
}

}  // namespace headrace::test
