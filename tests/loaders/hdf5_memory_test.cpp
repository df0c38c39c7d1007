// The memory of a table is a limit, of all its files and fields together.
#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/hdf5_records.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/hdf5_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

using P = H5::PredType;

constexpr std::size_t memory_files = 24, memory_values = 1024;
constexpr std::int64_t memory_rows = 128;  // of 4 KiB, in each file
constexpr std::size_t memory_row_bytes = memory_values * 4, memory_chunk = 16 * memory_row_bytes;

/// Files of the same fields, each of 512 KiB, stored in another way from file to file.
class MixedFiles {
 public:
  MixedFiles() {
    for (std::size_t f = 0; f < memory_files; ++f) {
      std::vector<std::byte> values = noise(memory_rows * memory_row_bytes);
      values[0] = static_cast<std::byte>(f);
      const H5::H5File file(path(f).c_str(), H5F_ACC_TRUNC);
      const std::vector<hsize_t> all{memory_rows, memory_values};
      write(file, {"plain", P::STD_I32LE, all}, values.data(), P::NATIVE_INT32);
      write(file, {"chunked", P::STD_I32LE, all, {16, memory_values}}, values.data(),
            P::NATIVE_INT32);
      write(file, {"packed", P::STD_I32LE, all, {16, 512}, 1}, values.data(), P::NATIVE_INT32);
      Planned mixed{"mixed", P::STD_I32LE, all};
      if (f % 3 != 0) mixed.chunk = {f % 3 == 1 ? 16U : 3U, memory_values};
      if (f % 3 == 2) mixed.deflate = 1;
      write(file, mixed, values.data(), P::NATIVE_INT32);
      write(file, {"labels", P::STD_I64LE, {memory_rows}},
            std::vector<std::int64_t>(memory_rows, 1).data(), P::NATIVE_INT64);
      expected_.push_back(std::move(values));
    }
  }

  std::filesystem::path path(std::size_t f) const {
    return folder_ / ("part" + std::to_string(f) + ".h5");
  }
  Hdf5TableOptions options(const std::vector<std::string>& datasets, std::size_t memory,
                           Residence residence) const {
    Hdf5TableOptions options{.file = path(0), .memory = memory, .residence = residence};
    for (const std::string& dataset : datasets)
      options.fields.push_back({.dataset = dataset});
    for (std::size_t f = 1; f < memory_files; ++f)
      options.more_files.push_back(path(f));
    return options;
  }
  /// Whether all fields of rows of all files are the files'.
  bool right(const Source& table) const {
    std::vector<std::int64_t> indices = scattered(memory_rows * std::int64_t{memory_files}, 400);
    for (std::int64_t row = 0; row < table.size(); row += 5)
      indices.push_back(row);
    for (std::size_t begin = 0; begin < indices.size(); begin += 50) {
      const std::span block =
          std::span(indices).subspan(begin, std::min<std::size_t>(50, indices.size() - begin));
      for (const auto& rows : gathered(table, block))
        for (std::size_t k = 0; k < block.size(); ++k)
          if (!equals(rows, k, block[k])) return false;
    }
    return true;
  }

 private:
  bool equals(const std::vector<std::byte>& rows, std::size_t k, std::int64_t index) const {
    const auto& values = expected_[static_cast<std::size_t>(index / memory_rows)];
    const auto at = index % memory_rows * static_cast<std::int64_t>(memory_row_bytes);
    const auto first = rows.begin() + static_cast<std::ptrdiff_t>(k * memory_row_bytes);
    return std::equal(first, first + memory_row_bytes, values.begin() + at);
  }

  TemporaryFolder folder_;
  std::vector<std::vector<std::byte>> expected_;
};

constexpr Residence ways_of_memory[] = {Residence::automatic, Residence::cached, Residence::pread,
                                        Residence::file, Residence::library};

}  // namespace

TEST_CASE("a table of many files holds no more than its memory and one chunk") {
  const MixedFiles files;
  for (const std::size_t memory : {memory_chunk, std::size_t{300} << 10, 1_MiB, 3_MiB, 16_MiB}) {
    for (const Residence residence : ways_of_memory) {
      for (const std::vector<std::string>& datasets :
           {std::vector<std::string>{"/chunked"},
            {"/mixed"},
            {"/packed", "/mixed"},
            {"/plain", "/chunked", "/packed", "/mixed"}}) {
        CAPTURE(memory);
        CAPTURE(static_cast<int>(residence));
        CAPTURE(datasets.size());
        const Hdf5Table table(files.options(datasets, memory, residence));
        CHECK(table.resident_bytes() <= memory + memory_chunk);
        CHECK(files.right(table));
        CHECK(table.resident_bytes() <= memory + memory_chunk);
      }
    }
  }
}

TEST_CASE("what fits is kept: with room for all chunks each is unpacked once") {
  const MixedFiles files;
  const Hdf5Table table(files.options({"/packed"}, 32_MiB, Residence::cached));
  for (int i = 0; i < 3; ++i)
    CHECK(files.right(table));
  CHECK(table.chunk_reads().bytes_unpacked <= memory_files * memory_rows * memory_row_bytes);
}

TEST_CASE("a resident table gives its indexes back") {
  const MixedFiles files;
  const std::size_t rows = memory_files * memory_rows * memory_row_bytes;
  const Hdf5Table table(files.options({"/packed"}, rows, Residence::resident));
  CHECK(table.resident_bytes() == rows);
  CHECK(table.chunk_rows() == 16);
  CHECK(files.right(table));
}

TEST_CASE("a field stays resident only where the indexes of the others' chunks fit beside it") {
  const TemporaryFolder folder;
  const auto path = folder / "a.h5";
  constexpr std::int64_t rows = 512, values = 24;
  const std::vector<std::byte> small = noise(rows * 96), large = noise(rows * values * 32);
  {
    const H5::H5File file(path.c_str(), H5F_ACC_TRUNC);
    write(file, {"small", P::STD_I32LE, {rows, values}}, small.data(), P::NATIVE_INT32);
    write(file, {"large", P::STD_I64LE, {rows, 4 * values}, {1, values}}, large.data(),
          P::NATIVE_INT64);
  }
  for (const std::size_t memory : {std::size_t{56} << 10, std::size_t{256} << 10}) {
    CAPTURE(memory);
    const Hdf5Table table(
        {.file = path, .fields = {{"s", "/small"}, {"l", "/large"}}, .memory = memory});
    const auto indices = scattered(rows, 100);
    const auto got = gathered(table, indices);
    CHECK(got[0] == pick(small, 96, indices));
    CHECK(got[1] == pick(large, values * 32, indices));
    CHECK(table.resident_bytes() <= memory);
  }
}

TEST_CASE("indexes of many files' chunks that need more than the memory are refused") {
  const TemporaryFolder folder;
  constexpr hsize_t chunks = 20'000;
  const std::vector<std::byte> values = noise(chunks);
  write(H5::H5File((folder / "0.h5").c_str(), H5F_ACC_TRUNC), {"x", P::STD_U8LE, {chunks}, {1}},
        values.data(), P::NATIVE_UINT8);
  Hdf5TableOptions options{.file = folder / "0.h5",
                           .fields = {{"x", "/x"}},
                           .memory = 8_MiB,
                           .residence = Residence::pread};
  for (int i = 1; i < 40; ++i) {
    options.more_files.push_back(folder / (std::to_string(i) + ".h5"));
    std::filesystem::create_hard_link(options.file, options.more_files.back());
  }
  const std::string message = message_of<ResourceError>([&] { Hdf5Table table(options); });
  CHECK(contains(message, "the indexes of the chunks of 40 files need"));
}

TEST_CASE("records hold their labels beside the memory of their rows") {
  const MixedFiles files;
  for (const std::size_t memory : {1_MiB, 16_MiB}) {
    CAPTURE(memory);
    const Hdf5Records records({.data = "/mixed",
                               .labels = "/labels",
                               .classes = {"a", "b"},
                               .table = files.options({}, memory, Residence::automatic)});
    CHECK(records.size() == memory_rows * std::int64_t{memory_files});
    CHECK(records.table().resident_bytes() <= memory + memory_chunk);
    CHECK(records.resident_bytes() <=
          records.table().resident_bytes() + 16 * static_cast<std::size_t>(records.size()) + 4096);
  }
}

}  // namespace headrace::test
