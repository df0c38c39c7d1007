#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/loaders/hdf5/hdf5_writer.h>
#include <headrace/loaders/synthetic/synthetic.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/hdf5_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <unistd.h>

namespace headrace::test {
namespace {

std::size_t files_in(const std::filesystem::path& folder) {
  const std::filesystem::directory_iterator files(folder);
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

}  // namespace

TEST_CASE("what another machine writes beside it, under this process's number, stays") {
  const TemporaryFolder folder;
  const auto other = folder / ("a.h5.partial." + std::to_string(::getpid()));
  std::ofstream(other) << "x";
  {
    Hdf5Writer writer(folder / "a.h5");
    writer.add("x", DType::uint8, 1, {});
    writer.append("x", Tensor::zeros(DType::uint8, {1}));
    writer.finish();
  }
  REQUIRE(std::filesystem::exists(other));
  CHECK(std::filesystem::file_size(other) == 1);
  CHECK(files_in(folder.path()) == 2);
}

TEST_CASE("what is written comes back, for every dtype") {
  const TemporaryFolder folder;
  Schema schema;
  for (int code = 0; code <= static_cast<int>(DType::boolean); ++code) {
    const auto dtype = static_cast<DType>(code);
    schema.put(FieldSpec::fixed(std::string(name_of(dtype)), dtype, {2, 3}));
  }
  const Table rows = SyntheticSource({.rows = 20, .fields = schema}).table();
  const auto path = folder / "all.h5";
  Hdf5Writer writer(path);
  Hdf5TableOptions options{.file = path};
  for (const TableColumn& column : rows.columns()) {
    const std::string dataset = "/features/deep/" + column.name;
    writer.add(dataset, column.rows.dtype(), 20, {2, 3});
    writer.append(dataset, column.rows.rows(0, 13));
    writer.append(dataset, column.rows.rows(13, 13));
    writer.append(dataset, column.rows.rows(13, 20));
    options.fields.push_back({.dataset = dataset});
  }
  writer.attribute("origin", "made for a test");
  writer.finish();

  const Hdf5Table table(options);
  CHECK(table.fields() == schema);
  for (const std::string& note : table.notes())
    CHECK(contains(note, "is kept in memory"));
  const auto indices = scattered(20, 60);
  CHECK(gathered(table, indices) == gathered(rows, indices));

  const H5::H5File file(path.c_str(), H5F_ACC_RDONLY);
  std::string text;
  file.openAttribute("origin").read(file.openAttribute("origin").getStrType(), text);
  CHECK(text == "made for a test");
}

TEST_CASE("the file appears when it is complete, and nothing is left of one that is not") {
  const TemporaryFolder folder;
  const auto path = folder / "x.h5";
  {
    Hdf5Writer writer(path);
    writer.add("x", DType::uint8, 2, {});
    CHECK_FALSE(std::filesystem::exists(path));
    CHECK(files_in(path.parent_path()) == 1);
  }
  CHECK(files_in(path.parent_path()) == 0);
  Hdf5Writer writer(path);
  writer.add("x", DType::uint8, 2, {});
  CHECK(
      contains(message_of<ConfigError>([&] { writer.finish(); }), "announced with 2 rows, got 0"));
  writer.append("x", Tensor::zeros(DType::uint8, {2}));
  writer.finish();
  CHECK(files_in(path.parent_path()) == 1);
  CHECK(Hdf5Table({.file = path, .fields = {{.dataset = "x"}}}).size() == 2);
}

TEST_CASE("rows that do not fit are refused") {
  const TemporaryFolder folder;
  Hdf5Writer writer(folder / "x.h5");
  writer.add("x", DType::uint8, 2, {3});
  CHECK_THROWS_AS(writer.append("y", Tensor::zeros(DType::uint8, {1, 3})), ConfigError);
  CHECK_THROWS_AS(writer.append("x", Tensor::zeros(DType::int8, {1, 3})), ConfigError);
  CHECK_THROWS_AS(writer.append("x", Tensor::zeros(DType::uint8, {1, 4})), ConfigError);
  CHECK_THROWS_AS(writer.append("x", Tensor::zeros(DType::uint8, {3, 3})), ConfigError);
  CHECK_THROWS_AS(writer.add("x", DType::uint8, 2, {3}), ConfigError);
  CHECK_THROWS_AS(writer.add("z", DType::uint8, -1, {3}), ConfigError);
  CHECK_THROWS_AS(Hdf5Writer(folder / "no/such/folder/x.h5"), ConfigError);
}

TEST_CASE("the HDF5 thread is one thread, passes errors on and may be entered twice") {
  const auto thread = Hdf5Thread::shared();
  std::thread::id first, second, inner;
  thread->run([&] {
    first = std::this_thread::get_id();
    thread->run([&] { inner = std::this_thread::get_id(); });
  });
  Hdf5Thread::shared()->run([&] { second = std::this_thread::get_id(); });
  CHECK(first == second);
  CHECK(first == inner);
  CHECK(first != std::this_thread::get_id());
  CHECK_THROWS_AS(thread->run([] { throw std::logic_error("mine"); }), std::logic_error);
  const std::string message = message_of<DataError>(
      [&] { thread->run([] { H5::H5File("/no/such/file", H5F_ACC_RDONLY); }); });
  CHECK(contains(message, "No such file"));
}

TEST_CASE("packed chunks come back, whatever pieces they were appended in") {
  const TemporaryFolder folder;
  const SyntheticSource source({.rows = 1000,
                                .fields = Schema{FieldSpec::fixed("a", DType::float32, {7}),
                                                 FieldSpec::fixed("b", DType::uint8, {3, 5}),
                                                 FieldSpec::fixed("c", DType::int16, {})}});
  const Table rows = source.table();
  for (const Hdf5Codec codec : {Hdf5Codec::none, Hdf5Codec::zstd, Hdf5Codec::lz4}) {
    for (const std::int64_t piece : {1, 64, 333, 1000}) {
      const auto path = folder / "packed.h5";
      Hdf5Writer writer(path);
      for (const TableColumn& column : rows.columns()) {
        writer.add("/" + column.name, column.rows.dtype(), 1000, column.rows.shape().row(),
                   {.chunk_rows = 64, .codec = codec});
        for (std::int64_t first = 0; first < 1000; first += piece) {
          const std::int64_t count = std::min<std::int64_t>(piece, 1000 - first);
          Tensor part =
              Tensor::empty(column.rows.dtype(), column.rows.shape().row().batched(count));
          std::memcpy(part.raw(), column.rows.row(first).raw(), part.bytes());
          writer.append("/" + column.name, part);
        }
        writer.attribute("/" + column.name, "from", "a test");
      }
      writer.finish();
      const std::vector<std::int64_t> indices = scattered(1000, 400);
      const Hdf5Table back({.file = path,
                            .fields = {{.dataset = "a"}, {.dataset = "b"}, {.dataset = "c"}},
                            .residence = Residence::pread,
                            .attributes = {"*"}});
      CHECK(gathered(back, indices) == gathered(rows, indices));
      CHECK(back.chunk_rows() == 64);
      CHECK(back.attributes().size() == 3);
    }
  }
}

TEST_CASE("a packed dataset needs rows in a chunk") {
  const TemporaryFolder folder;
  Hdf5Writer writer(folder / "x.h5");
  CHECK_THROWS_AS(writer.add("x", DType::uint8, 5, Shape{}, {.codec = Hdf5Codec::zstd}),
                  ConfigError);
  CHECK_THROWS_AS(writer.add("x", DType::uint8, 5, Shape{}, {.chunk_rows = -1}), ConfigError);
}

TEST_CASE("more files in the making than are kept from forked processes are refused") {
  const TemporaryFolder folder;
  const auto path = [&](std::size_t i) { return folder / (std::to_string(i) + ".h5"); };
  std::vector<Hdf5Writer> writers;
  const std::string message = message_of<ResourceError>([&] {
    while (writers.size() < 1000)
      writers.emplace_back(path(writers.size()));
  });
  CHECK(contains(message, "at most 256 files can be written at a time; finish some"));
  CHECK(writers.size() == 256);
  writers.pop_back();
  writers.emplace_back(path(256));
}

}  // namespace headrace::test
