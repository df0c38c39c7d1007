#include <headrace/engine/base/error.h>
#include <headrace/engine/headrace.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/hdf5_files.h>
#include <headrace/tests/loaders/hdf5_matrix.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

namespace fs = std::filesystem;
using P = H5::PredType;
using Row = std::vector<std::byte>;

/// 0 to 36 elements a row, now and then 3000: larger than a usual heap collection.
std::size_t length_of(std::size_t row) {
  return row % 50 == 49 ? 3000 : row * row % 37;
}

/// Writes `rows` sequences of `element` (as in the file) as dataset "x", "y" a label each.
void write_sequences(const fs::path& path, hsize_t rows, const MatrixType& element,
                     const H5::DSetCreatPropList& creation, hsize_t user_block = 0) {
  H5::FileCreatPropList layout;
  if (user_block > 0) layout.setUserblock(user_block);
  const H5::H5File file(path.c_str(), H5F_ACC_TRUNC, layout);
  std::vector<hvl_t> sequences;
  std::vector<std::byte> values = noise(3100 * element.file.getSize());
  for (std::size_t row = 0; row < rows; ++row)
    sequences.push_back({length_of(row), values.data() + row % 64 * element.file.getSize()});
  const H5::VarLenType type(element.file);
  file.createDataSet("x", type, H5::DataSpace(1, &rows), creation).write(sequences.data(), type);
  const std::vector<std::byte> labels = noise(rows);
  write(file, {"y", P::STD_U8LE, {rows}}, labels.data(), P::NATIVE_UINT8);
}

/// The rows as H5Dread gives them.
std::vector<Row> h5dread_rows(const fs::path& path, const H5::DataType& element) {
  const H5::H5File file(path.c_str(), H5F_ACC_RDONLY);
  const H5::DataSet data = file.openDataSet("x");
  const H5::DataSpace space = data.getSpace();
  std::vector<hvl_t> sequences(static_cast<std::size_t>(space.getSimpleExtentNpoints()));
  const H5::VarLenType type(element);
  data.read(sequences.data(), type);
  std::vector<Row> rows;
  for (const hvl_t& sequence : sequences) {
    const auto* first = static_cast<const std::byte*>(sequence.p);
    rows.emplace_back(first, first + sequence.len * element.getSize());
  }
  H5Dvlen_reclaim(type.getId(), space.getId(), H5P_DEFAULT, sequences.data());
  return rows;
}

Row row_of(const Hdf5Table& table, std::int64_t index, const std::string& field = "x") {
  Sample sample;
  table.read(index, sample);
  const Tensor& row = sample[field];
  const auto* first = static_cast<const std::byte*>(row.raw());
  return {first, first + row.bytes()};
}

std::vector<Row> rows_of(const Hdf5Table& table) {
  std::vector<Row> rows;
  for (std::int64_t i = 0; i < table.size(); ++i)
    rows.push_back(row_of(table, i));
  return rows;
}

Hdf5Table open_ragged(const fs::path& path, Residence residence = Residence::automatic) {
  return Hdf5Table({.file = path, .fields = {{.dataset = "x"}}, .residence = residence});
}

H5::DSetCreatPropList stored(int way) {
  H5::DSetCreatPropList creation;
  const hsize_t chunk = 16;
  if (way > 0) creation.setChunk(1, &chunk);
  if (way > 1) {
    creation.setShuffle();
    creation.setDeflate(4);
  }
  return creation;
}

}  // namespace

TEST_CASE("sequences of variable length equal H5Dread, every type, layout and residence") {
  const TemporaryFolder folder;
  const auto path = folder / "sequences.h5";
  for (const MatrixType& type : matrix_types()) {
    for (const int way : {0, 1, 2}) {
      for (const hsize_t block : {hsize_t{0}, hsize_t{1024}}) {
        CAPTURE(type.name);
        CAPTURE(way);
        write_sequences(path, 200, type, stored(way), block);
        const auto expected = h5dread_rows(path, type.memory);
        for (const Residence residence :
             {Residence::automatic, Residence::pread, Residence::cached, Residence::library}) {
          const Hdf5Table table = open_ragged(path, residence);
          CHECK(rows_of(table) == expected);
          const FieldSpec field = *table.fields().begin();
          CHECK(field.kind == FieldSpec::Kind::ragged);
          CHECK(field.shape == Shape{3000});
          CHECK_FALSE(table.gathers());
        }
      }
    }
  }
}

TEST_CASE("strings of variable length are their bytes; rows never written are empty") {
  const TemporaryFolder folder;
  const auto path = folder / "strings.h5";
  const hsize_t rows = 20, half = 10, chunk = 5;
  {
    const H5::H5File file(path.c_str(), H5F_ACC_TRUNC);
    const H5::StrType text(P::C_S1, H5T_VARIABLE);
    H5::DSetCreatPropList creation;
    creation.setChunk(1, &chunk);
    const H5::DataSet data = file.createDataSet("x", text, H5::DataSpace(1, &rows), creation);
    std::vector<std::string> texts;
    std::vector<const char*> pointers;
    for (hsize_t i = 0; i < half; ++i)
      texts.push_back(std::string(i * 7, static_cast<char>('a' + i)) + "\xc3\xa9");
    for (const std::string& each : texts)
      pointers.push_back(each.c_str());
    const H5::DataSpace place = data.getSpace();
    const hsize_t first = 0;
    place.selectHyperslab(H5S_SELECT_SET, &half, &first);
    data.write(pointers.data(), text, H5::DataSpace(1, &half), place);
  }
  const Hdf5Table table = open_ragged(path);
  CHECK(table.fields().begin()->dtype == DType::uint8);
  for (std::int64_t i = 0; i < 10; ++i) {
    const Row row = row_of(table, i);
    const std::string text(reinterpret_cast<const char*>(row.data()), row.size());
    CHECK(text ==
          std::string(static_cast<std::size_t>(i) * 7, static_cast<char>('a' + i)) + "\xc3\xa9");
  }
  CHECK(row_of(table, 15).empty());
}

TEST_CASE("a ragged field beside a fixed one makes batches with offsets, from several files") {
  const TemporaryFolder folder;
  const MatrixType type{"", P::STD_I16BE, P::NATIVE_INT16};
  write_sequences(folder / "a.h5", 30, type, stored(2));
  write_sequences(folder / "b.h5", 70, type, stored(0), 512);
  auto expected = h5dread_rows(folder / "a.h5", type.memory);
  for (const Row& row : h5dread_rows(folder / "b.h5", type.memory))
    expected.push_back(row);
  const auto labels = h5dread(folder / "b.h5", "y", P::NATIVE_UINT8);
  Hdf5Table table({.file = folder / "a.h5",
                   .fields = {{.dataset = "x"}, {.dataset = "y"}},
                   .more_files = {folder / "b.h5"}});
  CHECK(row_of(table, 99, "y")[0] == labels[69]);
  Loader loader = Pipeline::from(std::move(table)).order(Sequential{}).batch({.size = 20}).build();
  std::size_t row = 0;
  for (Batch& batch : loader.epoch(0)) {
    const auto* offsets = batch["x_offsets"].data<std::int64_t>();
    const auto* values = static_cast<const std::byte*>(batch["x"].raw());
    for (std::int64_t i = 0; i < batch.size(); ++i, ++row)
      CHECK(Row(values + 2 * offsets[i], values + 2 * offsets[i + 1]) == expected[row]);
  }
  CHECK(row == 100);
}

TEST_CASE("what cannot be a ragged field is refused by name") {
  const TemporaryFolder folder;
  const auto path = folder / "odd.h5";
  const hsize_t rows = 4;
  const hsize_t square[2] = {4, 3};
  const H5::VarLenType lists(P::STD_I32LE);
  {
    const H5::H5File file(path.c_str(), H5F_ACC_TRUNC);
    const H5::DataSpace space(1, &rows);
    file.createDataSet("nested", H5::VarLenType(static_cast<const H5::DataType&>(lists)), space);
    file.createDataSet("unwritten", lists, space);
    const H5::DSetCreatPropList compact;
    H5Pset_layout(compact.getId(), H5D_COMPACT);
    file.createDataSet("compact", lists, space, compact);
    file.createDataSet("several", lists, H5::DataSpace(2, square), stored(0));
  }
  const auto refusal = [&](const std::string& dataset) {
    return message_of<DataError>(
        [&] { Hdf5Table({.file = path, .fields = {{.dataset = dataset}}}); });
  };
  CHECK(contains(refusal("nested"), "of variable length that holds no plain numbers"));
  CHECK(contains(refusal("unwritten"), "never written"));
  CHECK(contains(refusal("compact"), "compact"));
  CHECK(contains(refusal("several"), "several values of variable length a row"));
}

TEST_CASE("a heap with any damaged byte gives values or an error, never more") {
  const TemporaryFolder folder;
  const auto path = folder / "damaged.h5";
  write_sequences(path, 12, {"", P::STD_I32LE, P::NATIVE_INT32}, stored(0));
  std::ifstream in(path, std::ios::binary);
  const std::string sound{std::istreambuf_iterator<char>(in), {}};
  const std::size_t heap = sound.find("GCOL");
  REQUIRE(heap != std::string::npos);
  int errors = 0;
  const auto read_all = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    try {
      rows_of(open_ragged(path));
    } catch (const DataError&) {
      ++errors;
    }
  };
  for (std::size_t at = heap; at < heap + 200; ++at) {
    for (const char other : {'\0', '\x7f', '\xff'}) {
      std::string bytes = sound;
      bytes[at] = other;
      read_all(bytes);
    }
  }
  CHECK(errors > 20);
  for (std::size_t end = heap; end < sound.size(); end += 64)
    read_all(sound.substr(0, end));
}

TEST_CASE("a reference whose length exceeds its object, or the file, is an error by name") {
  const TemporaryFolder folder;
  const auto path = folder / "lies.h5";
  const MatrixType type{"", P::STD_I32LE, P::NATIVE_INT32};
  for (const std::uint32_t length : {5U, 0xffffffffU}) {
    write_sequences(path, 12, type, stored(0));
    std::uint64_t at = 0;
    {
      const H5::H5File file(path.c_str(), H5F_ACC_RDONLY);
      at = file.openDataSet("x").getOffset() + 2 * 16;  // row 2 has 4 elements
    }
    {
      std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
      file.seekp(static_cast<std::streamoff>(at));
      file.write(reinterpret_cast<const char*>(&length), 4);
    }
    const std::string message = message_of<DataError>([&] { rows_of(open_ragged(path)); });
    CHECK(contains(message, "lies.h5"));
    CHECK(contains(message, length == 5 ? "shorter object" : "more than the file"));
  }
}

}  // namespace headrace::test
