#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/tests/loaders/file_bytes.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/hdf5_files.h>
#include <headrace/tests/loaders/hdf5_hostile.h>
#include <headrace/tests/support/temporary_folder.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <zlib.h>

namespace headrace::test {
namespace {

using P = H5::PredType;

std::filesystem::path secret(const TemporaryFolder& folder) {
  const auto path = folder / "secret.h5";
  write(H5::H5File(path.c_str(), H5F_ACC_TRUNC), {"x", P::STD_U8LE, {4}}, "1234", P::NATIVE_UINT8);
  return path;
}

std::filesystem::path honest(const TemporaryFolder& folder, hsize_t rows = 1000) {
  const auto path = folder / "honest.h5";
  const std::vector<std::byte> values = noise(rows * 16);
  write(H5::H5File(path.c_str(), H5F_ACC_TRUNC), {"x", P::STD_U8LE, {rows, 16}}, values.data(),
        P::NATIVE_UINT8);
  return path;
}

}  // namespace

TEST_CASE("external links are refused, also behind a soft link or in a group") {
  const TemporaryFolder folder;
  secret(folder);
  const auto path = folder / "links.h5";
  {
    const H5::H5File file(path.c_str(), H5F_ACC_TRUNC);
    const H5::Group group = file.createGroup("g");
    H5Lcreate_external("secret.h5", "/x", file.getId(), "outside", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("secret.h5", "/", group.getId(), "root", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/outside", file.getId(), "soft", H5P_DEFAULT, H5P_DEFAULT);
    write(file, {"real", P::STD_U8LE, {4}}, "abcd", P::NATIVE_UINT8);
    H5Lcreate_soft("/real", file.getId(), "inside", H5P_DEFAULT, H5P_DEFAULT);
  }
  CHECK(h5dread(path, "outside", P::NATIVE_UINT8).size() == 4);  // the link itself is sound
  for (const char* dataset : {"outside", "/soft", "g/root/x"}) {
    CAPTURE(dataset);
    CHECK(contains(refusal(path, dataset), "external link to \"secret.h5\""));
  }
  CHECK(Hdf5Table({.file = path, .fields = {{.dataset = "inside"}}}).size() == 4);
}

TEST_CASE("external storage is refused") {
  const TemporaryFolder folder;
  std::ofstream(folder / "passwords") << "root:x:0:0";
  const auto path = folder / "storage.h5";
  H5::DSetCreatPropList creation;
  creation.setExternal((folder / "passwords").c_str(), 0, 8);
  const hsize_t extent = 8;
  H5::H5File(path.c_str(), H5F_ACC_TRUNC)
      .createDataSet("x", P::STD_U8LE, H5::DataSpace(1, &extent), creation);
  CHECK(h5dread(path, "x", P::NATIVE_UINT8).size() == 8);
  CHECK(contains(refusal(path, "x"), "external storage"));
}

TEST_CASE("filters that need a plugin are refused before anything is read") {
  const TemporaryFolder folder;
  const auto path = folder / "filter.h5";
  const H5::DSetCreatPropList creation;
  const hsize_t extent = 64;
  creation.setChunk(1, &extent);
  H5Pset_filter(creation.getId(), 32001, H5Z_FLAG_OPTIONAL, 0, nullptr);
  H5::H5File(path.c_str(), H5F_ACC_TRUNC)
      .createDataSet("x", P::STD_U8LE, H5::DataSpace(1, &extent), creation);
  CHECK(contains(refusal(path, "x"), "filter 32001"));
}

TEST_CASE("chunks that unpack to more or less than they are, or to nothing, are errors by name") {
  const TemporaryFolder folder;
  const auto path = folder / "bombs.h5";
  std::string zeros(10 << 20, '\0'), bomb(zeros.size(), '\0');
  uLongf packed = bomb.size();
  REQUIRE(compress(reinterpret_cast<Bytef*>(bomb.data()), &packed,
                   reinterpret_cast<const Bytef*>(zeros.data()), zeros.size()) == Z_OK);
  bomb.resize(packed);
  {
    const H5::H5File file(path.c_str(), H5F_ACC_TRUNC);
    const H5::DSetCreatPropList creation;
    const hsize_t chunk = 64, extent = 192;
    creation.setChunk(1, &chunk);
    creation.setDeflate(4);
    for (const auto& [name, stored] : {std::pair{"bomb", bomb},
                                       {"garbage", std::string(50, 'x')},
                                       {"short", bomb.substr(0, 1)}}) {
      const H5::DataSet data =
          file.createDataSet(name, P::STD_U8LE, H5::DataSpace(1, &extent), creation);
      const hsize_t second = 64;
      H5Dwrite_chunk(data.getId(), H5P_DEFAULT, 0, &second, stored.size(), stored.data());
    }
  }
  const std::vector<std::int64_t> inside{100}, outside{10, 150};
  for (const char* dataset : {"bomb", "garbage", "short"}) {
    CAPTURE(dataset);
    const Hdf5Table table(
        {.file = path, .fields = {{"x", dataset}}, .residence = Residence::pread});
    const std::string message = message_of<DataError>([&] { gathered(table, inside); });
    CHECK(contains(message, "bombs.h5"));
    CHECK(contains(message, "chunk at [64]"));
    CHECK(gathered(table, outside)[0] == std::vector<std::byte>(2));
    CHECK_THROWS_AS(Hdf5Table({.file = path, .fields = {{"x", dataset}}}), DataError);
  }
}

TEST_CASE("a chunk index that points out of the file is refused") {
  const TemporaryFolder folder;
  const auto path = folder / "places.h5";
  const std::vector<std::byte> values = noise(6400);
  write(H5::H5File(path.c_str(), H5F_ACC_TRUNC), {"x", P::STD_U8LE, {100, 64}, {10, 64}},
        values.data(), P::NATIVE_UINT8);
  std::uint64_t address = 0;
  {
    const H5::H5File file(path.c_str(), H5F_ACC_RDONLY);
    const hsize_t third[2] = {20, 0};
    unsigned mask = 0;
    haddr_t at = 0;
    hsize_t bytes = 0;
    H5Dget_chunk_info_by_coord(file.openDataSet("x").getId(), third, &mask, &at, &bytes);
    address = at;
  }
  damage(path, little_endian(address), little_endian(address + (std::uint64_t{1} << 30)));
  for (const Residence residence : {Residence::automatic, Residence::resident, Residence::pread}) {
    CHECK(contains(message_of<DataError>([&] {
                     Hdf5Table({.file = path, .fields = {{"x", "x"}}, .residence = residence});
                   }),
                   "places.h5"));
  }
}

TEST_CASE("a chunked file that was cut off is refused") {
  const TemporaryFolder folder;
  const auto path = folder / "cut.h5";
  const std::vector<std::byte> values = noise(6400);
  write(H5::H5File(path.c_str(), H5F_ACC_TRUNC), {"x", P::STD_U8LE, {100, 64}, {10, 64}, 4},
        values.data(), P::NATIVE_UINT8);
  for (const auto part : {0.9, 0.5, 0.1}) {
    std::filesystem::resize_file(
        path,
        static_cast<std::uintmax_t>(part * static_cast<double>(std::filesystem::file_size(path))));
    CHECK(refusal(path, "x") != "");
  }
}

TEST_CASE("types without a dtype are refused by name") {
  const TemporaryFolder folder;
  const auto path = folder / "types.h5";
  const H5::CompType pair(std::size_t{8});
  pair.insertMember("a", 0, P::STD_I32LE);
  H5::IntType odd(P::STD_I32LE);
  odd.setPrecision(17);
  const hsize_t extent = 2;
  {
    const H5::H5File file(path.c_str(), H5F_ACC_TRUNC);
    const H5::DataSpace space(1, &extent);
    file.createDataSet("pair", pair, space);
    file.createDataSet("reference", P::STD_REF_OBJ, space);
    file.createDataSet("odd", odd, space);
    file.createDataSet("scalar", P::STD_I32LE, H5::DataSpace(H5S_SCALAR));
    file.createDataSet("null", P::STD_I32LE, H5::DataSpace(H5S_NULL));
  }
  CHECK(contains(refusal(path, "pair"), "compound"));
  CHECK(contains(refusal(path, "reference"), "reference"));
  CHECK(contains(refusal(path, "odd"), "unused bits"));
  CHECK(contains(refusal(path, "scalar"), "axis of rows"));
  CHECK(contains(refusal(path, "null"), "axis of rows"));
}

TEST_CASE("sizes that overflow or cannot be true are refused before memory is taken") {
  const TemporaryFolder folder;
  const auto path = folder / "sizes.h5";
  const hsize_t huge = hsize_t{1} << 40;
  const std::array<hsize_t, 2> chunk{1 << 12, 1 << 12};
  {
    const H5::H5File file(path.c_str(), H5F_ACC_TRUNC);
    const H5::DSetCreatPropList chunked;
    chunked.setChunk(2, chunk.data());
    const std::array<hsize_t, 2> square{hsize_t{1} << 31, hsize_t{1} << 31};
    file.createDataSet("square", P::STD_I64LE, H5::DataSpace(2, square.data()), chunked);
    const std::array<hsize_t, 2> sparse{huge, 1 << 12};
    file.createDataSet("chunk", P::STD_U8LE, H5::DataSpace(2, sparse.data()), chunked);
    file.createDataSet("unwritten", P::STD_U8LE, H5::DataSpace(1, &huge));
  }
  CHECK(contains(refusal(path, "square", 256_MiB), "63 bits"));
  CHECK(contains(refusal(path, "chunk"), "chunks of 16777216 bytes"));
  CHECK_THROWS_AS(
      Hdf5Table(
          {.file = path, .fields = {{.dataset = "unwritten"}}, .residence = Residence::resident}),
      ResourceError);
  const bool in_helper = std::getenv("HEADRACE_TEST_HDF5_HELPER") != nullptr;  // which has a window
  CHECK(Hdf5Table({.file = path, .fields = {{.dataset = "unwritten"}}}).resident_bytes() ==
        (in_helper ? 256 : 0));
}

TEST_CASE("a dataset whose extent was inflated does not read past its data") {
  const TemporaryFolder folder;
  const auto path = honest(folder);
  damage(path, little_endian(1000), little_endian(1000000000));
  CHECK(refusal(path, "x") != "");
}

TEST_CASE("a truncated file is refused") {
  const TemporaryFolder folder;
  const auto path = honest(folder);
  const auto whole = std::filesystem::file_size(path);
  for (const auto size :
       {whole - 1, whole / 2, std::uintmax_t{100}, std::uintmax_t{1}, std::uintmax_t{0}}) {
    std::filesystem::resize_file(path, size);
    CAPTURE(size);
    CHECK(refusal(path, "x") != "");
  }
}

TEST_CASE("files that are not HDF5 are refused") {
  const TemporaryFolder folder;
  std::ofstream(folder / "text.h5") << "this is no HDF5 file";
  CHECK(contains(refusal(folder / "text.h5", "x"), "cannot be opened"));
  CHECK_THROWS_AS(Hdf5Table({.file = "/dev/zero", .fields = {{.dataset = "x"}}}), ConfigError);
}

TEST_CASE("a file that is changed under the table gives an error with its name") {
  const TemporaryFolder folder;
  const std::vector<std::int64_t> indices{5, 2, 900};
  for (Residence residence : {Residence::pread, Residence::library}) {
    const auto path = honest(folder);
    const Hdf5Table table({.file = path, .fields = {{.dataset = "x"}}, .residence = residence});
    CHECK_NOTHROW(gathered(table, indices));
    std::filesystem::last_write_time(
        path, std::filesystem::last_write_time(path) + std::chrono::seconds(2));
    CHECK(contains(message_of<PipelineError>([&] { gathered(table, indices); }), "honest.h5"));
  }
  const auto path = honest(folder);
  const Hdf5Table table(
      {.file = path, .fields = {{.dataset = "x"}}, .residence = Residence::pread});
  std::filesystem::resize_file(path, 5000);
  Sample sample;
  CHECK(contains(message_of<PipelineError>([&] { table.read(999, sample); }), "honest.h5"));
}

TEST_CASE("a file that is replaced by another goes on as it was") {
  const TemporaryFolder folder;
  const auto path = honest(folder);
  const std::vector<std::int64_t> indices{5, 2, 900};
  const Hdf5Table table(
      {.file = path, .fields = {{.dataset = "x"}}, .residence = Residence::pread});
  const auto before = gathered(table, indices);
  std::ofstream(folder / "new") << "something else";
  std::filesystem::rename(folder / "new", path);
  CHECK(gathered(table, indices) == before);
}

}  // namespace headrace::test
