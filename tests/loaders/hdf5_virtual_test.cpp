#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/hdf5_files.h>
#include <headrace/tests/loaders/hdf5_matrix.h>
#include <headrace/tests/support/temporary_folder.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

namespace fs = std::filesystem;
using P = H5::PredType;

/// Rows of a virtual dataset that lie in another file.
struct Part {
  std::string file;
  hsize_t first;
  hsize_t rows;
  std::string dataset = "/x";
};

/// Writes the virtual dataset "x" of int32 [rows, 8], its fill value 42.
void write_virtual(const fs::path& path, hsize_t rows, const std::vector<Part>& parts) {
  const hsize_t extents[2] = {rows, 8};
  const H5::DataSpace space(2, extents);
  const H5::DSetCreatPropList creation;
  const std::int32_t fill = 42;
  creation.setFillValue(P::NATIVE_INT32, &fill);
  for (const Part& part : parts) {
    const hsize_t start[2] = {part.first, 0}, count[2] = {part.rows, 8};
    const H5::DataSpace place(2, extents), source(2, count);
    place.selectHyperslab(H5S_SELECT_SET, count, start);
    H5Pset_virtual(creation.getId(), place.getId(), part.file.c_str(), part.dataset.c_str(),
                   source.getId());
  }
  H5::H5File(path.c_str(), H5F_ACC_TRUNC).createDataSet("x", P::STD_I32LE, space, creation);
}

void write_source(const fs::path& path, hsize_t rows, const Planned& like) {
  fs::create_directories(path.parent_path());
  Planned plan = like;
  plan.path = "x";
  plan.extents = {rows, 8};
  const std::vector<std::byte> values = noise(rows * 32);
  write(H5::H5File(path.c_str(), H5F_ACC_TRUNC), plan, values.data(), P::NATIVE_INT32);
}

Hdf5Table open_virtual(const fs::path& path, Residence residence = Residence::library,
                       std::vector<std::string>* log = nullptr) {
  Hdf5TableOptions options{
      .file = path, .fields = {{.dataset = "x"}}, .memory = 1_MiB, .residence = residence};
  if (log != nullptr)
    options.log = [log](LogLevel, std::string_view line) { log->emplace_back(line); };
  return Hdf5Table(options);
}

std::string virtual_refusal(const fs::path& path) {
  return message_of<DataError>([&] { open_virtual(path); });
}

}  // namespace

TEST_CASE("virtual datasets equal H5Dread: any source, holes, every residence that may be") {
  const TemporaryFolder folder;
  write_source(folder / "plain.h5", 30, {"", P::STD_I32LE, {}});
  write_source(folder / "sub/packed.h5", 40, {"", P::STD_I32LE, {}, {7, 3}, 5});
  write_source(folder / "swapped.h5", 10, {"", P::STD_I32BE, {}});
  write_source(folder / "wide.h5", 10, {"", P::STD_I64LE, {}, {4, 8}});
  const auto path = folder / "virtual.h5";
  // Rows 30..34 and 95..99 have no source; one source is named by its full path.
  write_virtual(path, 100,
                {{"plain.h5", 0, 30},
                 {"sub/packed.h5", 35, 40},
                 {(folder / "swapped.h5").string(), 75, 10},
                 {"./wide.h5", 85, 10}});
  const auto all = h5dread(path, "x", P::NATIVE_INT32);
  const auto indices = scattered(100, 150);
  for (const Residence residence : {Residence::automatic, Residence::resident, Residence::cached,
                                    Residence::file, Residence::library}) {
    std::vector<std::string> log;
    const Hdf5Table table = open_virtual(path, residence, &log);
    CHECK(gathered(table, indices)[0] == pick(all, 32, indices));
    CHECK(std::ranges::count_if(
              log, [](const std::string& line) { return contains(line, "is virtual"); }) == 1);
  }
  CHECK(contains(message_of<ConfigError>([&] { open_virtual(path, Residence::pread); }),
                 "is virtual"));
}

TEST_CASE("a virtual dataset of its own file, and one beside a staged file, are read") {
  const TemporaryFolder folder;
  write_source(folder / "own.h5", 20, {"", P::STD_I32LE, {}});
  {
    const H5::H5File file((folder / "own.h5").c_str(), H5F_ACC_RDWR);
    const hsize_t extents[2] = {20, 8};
    const H5::DataSpace space(2, extents);
    const H5::DSetCreatPropList creation;
    H5Pset_virtual(creation.getId(), space.getId(), ".", "/x", space.getId());
    file.createDataSet("again", P::STD_I32LE, space, creation);
  }
  write_virtual(folder / "other.h5", 20, {{"own.h5", 0, 20}});
  const auto indices = scattered(20, 40);
  const auto expected = pick(h5dread(folder / "own.h5", "x", P::NATIVE_INT32), 32, indices);
  const Hdf5Table own({.file = folder / "own.h5",
                       .fields = {{.dataset = "again"}},
                       .residence = Residence::library});
  CHECK(gathered(own, indices)[0] == expected);
  const Hdf5Table staged({.file = folder / "other.h5",
                          .fields = {{.dataset = "x"}},
                          .residence = Residence::library,
                          .stage = folder / "."});
  CHECK(gathered(staged, indices)[0] == expected);
}

TEST_CASE("sources outside the folder are refused, however they are reached") {
  const TemporaryFolder folder;
  write_source(folder / "secret.h5", 4, {"", P::STD_I32LE, {}});
  fs::create_directory(folder / "data");
  fs::create_symlink(folder / "secret.h5", folder / "data/link.h5");
  const auto path = folder / "data/virtual.h5";
  for (const std::string& name :
       {(folder / "secret.h5").string(), std::string("../secret.h5"), std::string("link.h5")}) {
    CAPTURE(name);
    write_virtual(path, 4, {{name, 0, 4}});
    CHECK(h5dread(path, "x", P::NATIVE_INT32) ==
          h5dread(folder / "secret.h5", "x", P::NATIVE_INT32));
    CHECK(contains(virtual_refusal(path), "outside the folder"));
  }
}

TEST_CASE("a source that cannot be read alone is refused by name, not read as fill values") {
  const TemporaryFolder folder;
  const auto path = folder / "virtual.h5";
  write_virtual(path, 4, {{"missing.h5", 0, 4}});
  CHECK(contains(virtual_refusal(path), "missing.h5; put it back"));

  std::ofstream(folder / "text.h5") << "no HDF5";
  write_virtual(path, 4, {{"text.h5", 0, 4}});
  const std::string text = virtual_refusal(path);
  CAPTURE(text);
  CHECK(contains(text, "text.h5: cannot be opened"));

  write_virtual(folder / "nested.h5", 4, {{"missing.h5", 0, 4}});
  write_virtual(path, 4, {{"nested.h5", 0, 4}});
  CHECK(contains(virtual_refusal(path), "virtual itself"));

  write_virtual(path, 4, {{".", 0, 4}});
  CHECK(contains(virtual_refusal(path), "virtual itself"));
}

TEST_CASE("virtual datasets that grow with their sources are read, patterns of names refused") {
  const TemporaryFolder folder;
  const hsize_t extents[2] = {10, 8}, most[2] = {H5S_UNLIMITED, 8};
  const hsize_t start[2] = {0, 0}, once[2] = {1, 8}, without_end[2] = {H5S_UNLIMITED, 1};
  const auto path = folder / "growing.h5";
  {
    const H5::H5File source((folder / "source.h5").c_str(), H5F_ACC_TRUNC);
    H5::DSetCreatPropList chunked;
    chunked.setChunk(2, extents);
    source.createDataSet("x", P::STD_I32LE, H5::DataSpace(2, extents, most), chunked)
        .write(noise(320).data(), P::NATIVE_INT32);
    const H5::DataSpace from(2, extents, most), growing(2, extents, most), fixed(2, extents);
    const hsize_t block[2] = {1, 8}, all[2] = {10, 8};
    from.selectHyperslab(H5S_SELECT_SET, without_end, start, block, block);
    growing.selectHyperslab(H5S_SELECT_SET, without_end, start, block, block);
    const H5::DSetCreatPropList grows, pattern;
    H5Pset_virtual(grows.getId(), growing.getId(), "source.h5", "/x", from.getId());
    growing.selectHyperslab(H5S_SELECT_SET, without_end, start, all, all);
    H5Pset_virtual(pattern.getId(), growing.getId(), "part%b.h5", "/x", fixed.getId());
    const H5::H5File file(path.c_str(), H5F_ACC_TRUNC);
    file.createDataSet("x", P::STD_I32LE, H5::DataSpace(2, once, most), grows);
    file.createDataSet("pattern", P::STD_I32LE, H5::DataSpace(2, extents, most), pattern);
  }
  const Hdf5Table table = open_virtual(path);
  REQUIRE(table.size() == 10);
  CHECK(gathered(table, scattered(10, 30))[0] == pick(noise(320), 32, scattered(10, 30)));
  CHECK(contains(
      message_of<DataError>([&] { Hdf5Table({.file = path, .fields = {{.dataset = "pattern"}}}); }),
      "pattern \"part%b.h5\""));
}

TEST_CASE("sources with external storage, external links or plugins are refused") {
  const TemporaryFolder folder;
  std::ofstream(folder / "passwords") << std::string(128, 'x');
  const hsize_t extents[2] = {4, 8};
  const H5::DataSpace space(2, extents);
  {
    const H5::H5File file((folder / "source.h5").c_str(), H5F_ACC_TRUNC);
    const H5::DSetCreatPropList outside, plugin;
    outside.setExternal((folder / "passwords").c_str(), 0, 128);
    plugin.setChunk(2, extents);
    H5Pset_filter(plugin.getId(), 32001, H5Z_FLAG_OPTIONAL, 0, nullptr);
    file.createDataSet("outside", P::STD_I32LE, space, outside);
    file.createDataSet("plugin", P::STD_I32LE, space, plugin);
    H5Lcreate_external("/etc/other.h5", "/x", file.getId(), "link", H5P_DEFAULT, H5P_DEFAULT);
  }
  const auto path = folder / "virtual.h5";
  for (const auto& [dataset, why] : {std::pair{"/outside", "external storage"},
                                     {"/plugin", "filter 32001"},
                                     {"/link", "external link to \"/etc/other.h5\""}}) {
    write_virtual(path, 4, {{"source.h5", 0, 4, dataset}});
    CHECK(contains(virtual_refusal(path), why));
  }
}

TEST_CASE("a source that is changed under the table gives an error with its name") {
  const TemporaryFolder folder;
  write_source(folder / "source.h5", 4, {"", P::STD_I32LE, {}});
  write_virtual(folder / "virtual.h5", 4, {{"source.h5", 0, 4}});
  const Hdf5Table table = open_virtual(folder / "virtual.h5");
  const std::vector<std::int64_t> indices{3, 1};
  CHECK_NOTHROW(gathered(table, indices));
  const auto source = folder / "source.h5";
  fs::last_write_time(source, fs::last_write_time(source) + std::chrono::seconds(2));
  CHECK(contains(message_of<PipelineError>([&] { gathered(table, indices); }), "source.h5"));
}

}  // namespace headrace::test
