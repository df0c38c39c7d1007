#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/loaders/hdf5/hdf5_writer.h>
#include <headrace/loaders/synthetic/synthetic.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/loaders/file_bytes.h>
#include <headrace/tests/loaders/hdf5_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace headrace;
using test::contains;
using test::Finished;
using test::run_headrace;
using test::TemporaryFolder;

namespace fs = std::filesystem;

headrace::Table rows_to_pack() {
  return SyntheticSource({.rows = 3000,
                          .fields = Schema{FieldSpec::fixed("mel", DType::float16, {8, 5}),
                                           FieldSpec::fixed("label", DType::int16, {})}})
      .table();
}

void write_input(const fs::path& file, const headrace::Table& rows) {
  Hdf5Writer writer(file);
  for (const TableColumn& column : rows.columns()) {
    writer.add("/data/" + column.name, column.rows.dtype(), rows.size(), column.rows.shape().row(),
               {.chunk_rows = 7});
    writer.append("/data/" + column.name, column.rows);
  }
  writer.attribute("labels_json", "{\"HISS\": 2}");
  writer.attribute("/data/mel", "unit", "dB");
  writer.finish();
}

Finished pack_table(const TemporaryFolder& folder, std::vector<std::string> words) {
  words.insert(words.begin(), {"pack", "table"});
  return run_headrace(folder.path(), words);
}

std::vector<std::byte> all_of(const Hdf5Table& table, std::size_t row_bytes) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(table.size()));
  std::iota(indices.begin(), indices.end(), std::int64_t{0});
  std::vector<std::byte> bytes(indices.size() * row_bytes);
  const std::array columns{Rows::Column{bytes.data(), row_bytes}};
  table.gather(indices, Rows(columns, table.size()));
  return bytes;
}

}  // namespace

TEST_CASE("pack table keeps bytes and attributes in every layout, and says both rates") {
  const TemporaryFolder folder;
  const headrace::Table rows = rows_to_pack();
  write_input(folder.path() / "in.h5", rows);
  for (const std::string layout : {"contiguous", "zstd", "lz4"}) {
    CAPTURE(layout);
    const Finished packed = pack_table(folder, {"in.h5", "out.h5", "--layout", layout});
    REQUIRE_MESSAGE(packed.status == 0, packed.err);
    CHECK(contains(packed.err, "every checksum right"));
    CHECK(contains(packed.err, "a second before"));
    for (const TableColumn& column : rows.columns()) {
      const Hdf5Table table({.file = folder.path() / "out.h5",
                             .fields = {{.dataset = "/data/" + column.name}},
                             .residence = Residence::pread,
                             .attributes = {"*"}});
      CHECK(contains(table.notes()[0], layout == "contiguous" ? "row by row" : "chunk by chunk"));
      const auto bytes = all_of(table, column.rows.bytes() / 3000);
      CHECK(std::memcmp(bytes.data(), column.rows.raw(), bytes.size()) == 0);
      const auto& attributes = table.attributes();
      const auto has = [&](const std::string& name) {
        return std::ranges::any_of(attributes, [&](const auto& a) { return a.name == name; });
      };
      CHECK(has("labels_json"));
      CHECK(has("crc32"));
      CHECK(has("unit") == (column.name == "mel"));
    }
  }
}

TEST_CASE("pack table takes a folder of arrays") {
  const TemporaryFolder folder;
  std::string header = "{'descr': '>u2', 'fortran_order': False, 'shape': (4, 2), }";
  header.resize(117, ' ');
  std::ofstream(folder.path() / "x.npy", std::ios::binary)
      << "\x93NUMPY" << '\1' << '\0' << '\x76' << '\0' << header << '\n'
      << std::string("\0\1\0\2\0\3\0\4\0\5\0\6\0\7\0\10", 16);
  const Finished packed = pack_table(folder, {".", "out.h5"});
  REQUIRE_MESSAGE(packed.status == 0, packed.err);
  const Hdf5Table table({.file = folder.path() / "out.h5", .fields = {{.dataset = "x"}}});
  CHECK(to_string(table.fields()) == "{x: uint16 [2]}");
  Sample sample;
  table.read(3, sample);
  CHECK(sample["x"].values<std::uint16_t>()[1] == 8);
}

TEST_CASE("pack table refuses what cannot be") {
  const TemporaryFolder folder;
  write_input(folder.path() / "in.h5", rows_to_pack());
  CHECK(contains(pack_table(folder, {"in.h5", "in.h5"}).err, "another file than the input"));
  CHECK(pack_table(folder, {"in.h5", "out.h5", "--chunk-rows", "5"}).status == 2);
  CHECK(pack_table(folder, {"in.h5", "out.h5", "--dataset", "/nothing"}).status == 2);
  CHECK(pack_table(folder, {"in.h5", "out.h5", "--layout", "rar"}).status == 2);
  CHECK_FALSE(fs::exists(folder.path() / "out.h5"));
}

TEST_CASE("pack table does not pack memory that a dataset does not store") {
  const TemporaryFolder folder;
  const fs::path input = folder.path() / "in.h5";
  test::write(H5::H5File(input.c_str(), H5F_ACC_TRUNC),
              {.path = "x", .type = H5::PredType::STD_I16LE, .extents = {1234}, .compact = true},
              test::noise(2468).data(), H5::PredType::NATIVE_INT16);
  REQUIRE(pack_table(folder, {"in.h5", "whole.h5"}).status == 0);
  test::damage(input, test::little_endian(1234), test::little_endian(4321));
  const Finished named = pack_table(folder, {"in.h5", "out.h5", "--dataset", "/x"});
  CHECK(named.status == 3);
  CHECK(contains(named.err, "in.h5: dataset \"/x\" must store the 8642 bytes"));
  const Finished all = pack_table(folder, {"in.h5", "out.h5"});
  CHECK(all.status == 3);
  CHECK(contains(all.err, "/x: left out; "));
  CHECK_FALSE(fs::exists(folder.path() / "out.h5"));
}
