#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/hdf5_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

using P = H5::PredType;

constexpr std::array table_ways{Residence::automatic, Residence::resident, Residence::pread,
                                Residence::library};

std::vector<std::int64_t> all_and_scattered(std::int64_t rows) {
  std::vector<std::int64_t> indices = scattered(rows, 150);
  for (std::int64_t i = 0; i < rows; ++i)
    indices.push_back(rows - 1 - i);
  for (std::int64_t i = 0; i < rows; ++i)
    indices.push_back(i);
  return indices;
}

/// A half-precision type in the given byte order, as h5py writes it.
H5::FloatType half(H5T_order_t order) {
  H5::FloatType type(H5::PredType::IEEE_F32LE);
  type.setFields(15, 10, 5, 0, 10);
  type.setSize(2);
  type.setEbias(15);
  type.setOrder(order);
  return type;
}

struct TypeCase {
  H5::DataType file;
  H5::DataType memory;
  DType dtype;
};

std::vector<TypeCase> number_types() {
  return {{P::STD_U8LE, P::NATIVE_UINT8, DType::uint8},
          {P::STD_I8BE, P::NATIVE_INT8, DType::int8},
          {P::STD_U16BE, P::NATIVE_UINT16, DType::uint16},
          {P::STD_I16LE, P::NATIVE_INT16, DType::int16},
          {P::STD_U32LE, P::NATIVE_UINT32, DType::uint32},
          {P::STD_I32BE, P::NATIVE_INT32, DType::int32},
          {P::STD_U64BE, P::NATIVE_UINT64, DType::uint64},
          {P::STD_I64LE, P::NATIVE_INT64, DType::int64},
          {P::IEEE_F32BE, P::NATIVE_FLOAT, DType::float32},
          {P::IEEE_F64LE, P::NATIVE_DOUBLE, DType::float64},
          {P::IEEE_F64BE, P::NATIVE_DOUBLE, DType::float64},
          {half(H5T_ORDER_LE), half(H5T_ORDER_LE), DType::float16},
          {half(H5T_ORDER_BE), half(H5T_ORDER_LE), DType::float16}};
}

/// Numbers -300, -299, ... converted by the library to `type`.
std::vector<std::byte> counting(std::size_t count, const H5::DataType& type) {
  std::vector<std::byte> bytes(count * sizeof(double));
  for (std::size_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(i % 121) - (i % 2 == 0 ? 0.0 : 60.25);
    std::memcpy(bytes.data() + i * sizeof(double), &value, sizeof(double));
  }
  H5::PredType::NATIVE_DOUBLE.convert(type, count, bytes.data(), nullptr);
  bytes.resize(count * type.getSize());
  return bytes;
}

Hdf5Table table_of(const std::filesystem::path& file, std::vector<std::string> datasets,
                   Residence residence = Residence::automatic, std::size_t memory = 64_MiB) {
  Hdf5TableOptions options{.file = file, .memory = memory, .residence = residence};
  for (std::string& dataset : datasets)
    options.fields.push_back({.dataset = std::move(dataset)});
  return Hdf5Table(std::move(options));
}

}  // namespace

TEST_CASE("every type in either byte order gives the bytes of H5Dread, in every residence") {
  const TemporaryFolder folder;
  for (const TypeCase& type : number_types()) {
    const auto path = folder / "types.h5";
    const std::vector<std::byte> values = counting(40 * 6, type.memory);
    write(H5::H5File(path.c_str(), H5F_ACC_TRUNC), {"x", type.file, {40, 3, 2}}, values.data(),
          type.memory);
    const std::vector<std::byte> expected = h5dread(path, "x", type.memory);
    const auto indices = all_and_scattered(40);
    for (Residence residence : table_ways) {
      const Hdf5Table table = table_of(path, {"/x"}, residence);
      CAPTURE(to_string(table.fields()));
      CHECK(table.fields() == Schema{FieldSpec::fixed("x", type.dtype, {3, 2})});
      CHECK(gathered(table, indices)[0] == pick(expected, 6 * type.memory.getSize(), indices));
      CHECK(one_by_one(table, indices) == gathered(table, indices));
    }
  }
}

TEST_CASE("bfloat16, booleans, enumerations, strings and arrays become fields") {
  const TemporaryFolder folder;
  const auto path = folder / "special.h5";
  H5::FloatType brain(H5::PredType::IEEE_F32LE);
  brain.setFields(15, 7, 8, 0, 7);
  brain.setSize(2);
  H5::EnumType flag(H5::PredType::NATIVE_INT8), colour(H5::PredType::STD_I16BE);
  signed char no = 0, yes = 1;
  flag.insert("FALSE", &no);
  flag.insert("TRUE", &yes);
  std::array<unsigned char, 2> red{1, 2};
  colour.insert("RED", red.data());
  const H5::StrType text(H5::PredType::C_S1, 5);
  const hsize_t inner = 3;
  const H5::ArrayType triple(H5::PredType::STD_U16BE, 1, &inner);

  H5::H5File file(path.c_str(), H5F_ACC_TRUNC);
  const std::array<std::uint16_t, 2> brains{0x3f80, 0xc000};
  const std::array<unsigned char, 2> flags{1, 7};  // 7 is no boolean
  const std::array<unsigned char, 4> colours{1, 2, 1, 2};
  const std::array<unsigned char, 12> triples{0, 1, 0, 2, 0, 3, 1, 0, 2, 0, 3, 0};
  write(file, {"brain", brain, {2}}, brains.data(), brain);
  write(file, {"flag", flag, {2}}, flags.data(), flag);
  write(file, {"colour", colour, {2}}, colours.data(), colour);
  write(file, {"text", text, {2}}, "abcdeABCDE", text);
  write(file, {"triple", triple, {2}}, triples.data(), triple);
  file.close();

  const std::vector<std::int64_t> second{1};
  for (Residence residence : table_ways) {
    const Hdf5Table table =
        table_of(path, {"brain", "flag", "colour", "text", "triple"}, residence);
    CHECK(to_string(table.fields()) ==
          "{brain: bfloat16 [], flag: boolean [], colour: int16 [], text: uint8 [5], triple: "
          "uint16 [3]}");
    Sample sample;
    table.read(1, sample);
    CHECK(sample["brain"].item<bfloat16_t>().bits == 0xc000);
    CHECK(*static_cast<const unsigned char*>(sample["flag"].raw()) == 1);
    CHECK(sample["colour"].item<std::int16_t>() == 0x0102);
    CHECK(sample["text"].values<std::uint8_t>()[4] == 'E');
    CHECK(sample["triple"].values<std::uint16_t>()[2] == 0x0300);
    CHECK(gathered(table, second) == one_by_one(table, second));
  }
}

TEST_CASE("compact and unwritten datasets come through the library, and a note says so") {
  const TemporaryFolder folder;
  const auto path = folder / "layouts.h5";
  {
    const H5::H5File file(path.c_str(), H5F_ACC_TRUNC);
    const std::vector<std::byte> values = noise(70 * 40);
    write(file, {.path = "compact", .type = P::STD_I32LE, .extents = {70, 10}, .compact = true},
          values.data(), P::STD_I32LE);
    H5::DSetCreatPropList filled;
    const std::int32_t seven = 7;
    filled.setFillValue(P::NATIVE_INT32, &seven);
    const std::array<hsize_t, 2> extents{70, 10};
    file.createDataSet("unwritten", P::STD_I32LE, H5::DataSpace(2, extents.data()), filled);
  }
  const auto indices = all_and_scattered(70);
  for (const char* name : {"compact", "unwritten"}) {
    CAPTURE(name);
    const std::vector<std::byte> expected = pick(h5dread(path, name, P::NATIVE_INT32), 40, indices);
    const Hdf5Table resident = table_of(path, {name}, Residence::automatic);
    CHECK_FALSE(resident.blocking());
    CHECK(gathered(resident, indices)[0] == expected);
    REQUIRE(resident.notes().size() == 1);
    CHECK(contains(resident.notes()[0], "copied into memory by the library"));

    const Hdf5Table direct = table_of(path, {name}, Residence::automatic, 2700);
    CHECK(direct.blocking());
    // A helper has a window for the rows of a call.
    const bool in_helper = std::getenv("HEADRACE_TEST_HDF5_HELPER") != nullptr;
    CHECK(direct.resident_bytes() == (in_helper ? 10240 : 0));
    CHECK(gathered(direct, indices)[0] == expected);
    CHECK(contains(direct.notes()[0], "one thread"));
    CHECK_THROWS_AS(table_of(path, {name}, Residence::pread), ConfigError);
  }
}

TEST_CASE("a user block moves every offset") {
  const TemporaryFolder folder;
  const auto path = folder / "block.h5";
  H5::FileCreatPropList creation;
  creation.setUserblock(1024);
  const std::vector<std::byte> values = noise(30 * 8);
  write(H5::H5File(path.c_str(), H5F_ACC_TRUNC, creation), {"x", H5::PredType::STD_U8LE, {30, 8}},
        values.data(), H5::PredType::NATIVE_UINT8);
  const auto indices = all_and_scattered(30);
  for (Residence residence : table_ways) {
    CHECK(gathered(table_of(path, {"x"}, residence), indices)[0] == pick(values, 8, indices));
  }
}

TEST_CASE("rows far apart, close together and repeated are joined rightly") {
  const TemporaryFolder folder;
  const auto path = folder / "wide.h5";
  const hsize_t rows = 3000, bytes = 700;
  const std::vector<std::byte> values = noise(rows * bytes);
  write(H5::H5File(path.c_str(), H5F_ACC_TRUNC), {"x", H5::PredType::STD_U8LE, {rows, bytes}},
        values.data(), H5::PredType::NATIVE_UINT8);
  const Hdf5Table table = table_of(path, {"x"}, Residence::pread);
  std::vector<std::int64_t> every(rows), backwards(rows), thirds, same(50, 2999);
  std::iota(every.begin(), every.end(), std::int64_t{0});
  std::reverse_copy(every.begin(), every.end(), backwards.begin());
  for (std::int64_t i = 0; i < 3000; i += 3)
    thirds.push_back(i);
  for (const auto& indices :
       {every, backwards, thirds, same, scattered(3000, 2500), std::vector<std::int64_t>{}}) {
    CHECK(gathered(table, indices)[0] == pick(values, bytes, indices));
  }
}

TEST_CASE("the budget goes to the smallest datasets first, and is kept") {
  const TemporaryFolder folder;
  const auto path = folder / "two.h5";
  {
    const H5::H5File file(path.c_str(), H5F_ACC_TRUNC);
    const std::vector<std::byte> values = noise(1000 * 100);
    write(file, {"big", H5::PredType::STD_U8LE, {1000, 100}}, values.data(),
          H5::PredType::NATIVE_UINT8);
    write(file, {"small", H5::PredType::STD_U8LE, {1000, 4}}, values.data(),
          H5::PredType::NATIVE_UINT8);
  }
  const auto indices = scattered(1000, 500);
  const Hdf5Table all = table_of(path, {"big", "small"}, Residence::automatic, 110000);
  const Hdf5Table some = table_of(path, {"big", "small"}, Residence::automatic, 50000);
  const Hdf5Table none = table_of(path, {"big", "small"}, Residence::automatic, 100);
  CHECK(all.resident_bytes() == 102400 + 4096);
  CHECK(some.resident_bytes() == 4096);
  CHECK(none.resident_bytes() == 0);
  CHECK_FALSE(all.blocking());
  CHECK(some.blocking());
  CHECK(all.preferred_rows() == 0);
  CHECK(some.preferred_rows() > 100);
  CHECK(gathered(all, indices) == gathered(some, indices));
  CHECK(gathered(all, indices) == gathered(none, indices));
  const std::string message = message_of<ResourceError>([&] {
    table_of(path, {"big", "small"}, Residence::resident, 50000);
  });
  CHECK(contains(message, "102400 + 4096"));
  CHECK(contains(message, "50000"));
}

TEST_CASE("resident rows are lent, not copied, and outlive file and table") {
  const TemporaryFolder folder;
  const auto path = folder / "lent.h5";
  const std::vector<std::byte> values = noise(10 * 16);
  write(H5::H5File(path.c_str(), H5F_ACC_TRUNC), {"x", H5::PredType::STD_U8LE, {10, 16}},
        values.data(), H5::PredType::NATIVE_UINT8);
  Sample first, again;
  {
    const Hdf5Table table = table_of(path, {"x"});
    std::filesystem::remove(path);
    table.read(3, first);
    table.read(3, again);
  }
  CHECK(first["x"].raw() == again["x"].raw());
  CHECK(std::memcmp(first["x"].raw(), values.data() + 48, 16) == 0);
}

TEST_CASE(
    "fields take their names from the options or the path, and origins name file, dataset and "
    "row") {
  const TemporaryFolder folder;
  const auto path = folder / "names.h5";
  {
    const H5::H5File file(path.c_str(), H5F_ACC_TRUNC);
    file.createGroup("features");
    write(file, {"features/rim", H5::PredType::STD_U8LE, {4}}, "abcd", H5::PredType::NATIVE_UINT8);
    write(file, {"labels", H5::PredType::STD_U8LE, {4}}, "efgh", H5::PredType::NATIVE_UINT8);
    write(file, {"short", H5::PredType::STD_U8LE, {3}}, "ijk", H5::PredType::NATIVE_UINT8);
  }
  std::vector<std::string> log;
  const Hdf5Table table({.file = path,
                         .fields = {{.dataset = "/features/rim"}, {"target", "/labels"}},
                         .log = [&](LogLevel, std::string_view line) { log.emplace_back(line); }});
  CHECK(to_string(table.fields()) == "{rim: uint8 [], target: uint8 []}");
  CHECK(table.origin(2) == path.string() + ":/features/rim[2]");
  CHECK(log == table.notes());

  const std::string shorter = message_of<ConfigError>([&] { table_of(path, {"labels", "short"}); });
  CHECK(contains(shorter, "\"labels\" has 4 rows but \"short\" has 3"));
  const std::string absent = message_of<ConfigError>([&] { table_of(path, {"/label"}); });
  CHECK(contains(absent, "features/rim"));
  CHECK(contains(absent, "labels"));
  CHECK_THROWS_AS(table_of(path, {}), ConfigError);
  CHECK_THROWS_AS(table_of(path, {"labels", "labels"}), ConfigError);
  CHECK_THROWS_AS(table_of(folder / "absent.h5", {"labels"}), ConfigError);
}

TEST_CASE("many threads gather from one table at once") {
  const TemporaryFolder folder;
  const auto path = folder / "threads.h5";
  const std::vector<std::byte> values = noise(500 * 32);
  write(H5::H5File(path.c_str(), H5F_ACC_TRUNC),
        {"x", H5::PredType::STD_U8LE, {500, 32}, {64, 32}, 1}, values.data(),
        H5::PredType::NATIVE_UINT8);
  const Hdf5Table table = table_of(path, {"x"}, Residence::library);
  const auto indices = scattered(500, 300);
  const std::vector<std::byte> expected = pick(values, 32, indices);
  std::array<bool, 4> same{};
  {
    std::vector<std::jthread> crew;
    for (bool& result : same) {
      crew.emplace_back([&] {
        result = true;
        for (int i = 0; i < 5; ++i)
          result = result && gathered(table, indices)[0] == expected;
      });
    }
  }
  CHECK(std::all_of(same.begin(), same.end(), [](bool result) { return result; }));
}

TEST_CASE("a dataset without rows is a table of size 0") {
  const TemporaryFolder folder;
  const auto path = folder / "empty.h5";
  write(H5::H5File(path.c_str(), H5F_ACC_TRUNC), {"x", H5::PredType::STD_U8LE, {0, 5}}, "",
        H5::PredType::NATIVE_UINT8);
  for (Residence residence : table_ways) {
    const Hdf5Table table = table_of(path, {"x"}, residence);
    CHECK(table.size() == 0);
    CHECK(gathered(table, {})[0].empty());
  }
}

}  // namespace headrace::test
