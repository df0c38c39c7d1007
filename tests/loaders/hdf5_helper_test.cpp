#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/hdf5_datasets.h>
#include <headrace/loaders/hdf5/hdf5_helper.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/hdf5_files.h>
#include <headrace/tests/loaders/hdf5_hostile.h>
#include <headrace/tests/loaders/hostile_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

namespace headrace::test {
namespace {

namespace fs = std::filesystem;
using P = H5::PredType;

/// The library is left to helpers while this lives.
struct InHelper {
  InHelper() { use_hdf5_helper(); }
  ~InHelper() { use_hdf5_helper(std::getenv("HEADRACE_TEST_HDF5_HELPER") != nullptr); }
};

/// Processes of the helper that this process has started and not yet ended.
std::vector<pid_t> helpers() {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::ifstream stat(entry.path() / "stat");
    std::string pid, name, state, parent;
    stat >> pid >> name >> state >> parent;
    if (name == "(headrace-hdf5)" && parent == std::to_string(::getpid()))
      found.push_back(std::stoi(pid));
  }
  return found;
}

/// What only the library can read, by its name, and what is read past it.
struct Layout {
  std::string name;
  H5::DSetCreatPropList creation;
  bool by_library = true;
};

std::vector<Layout> layouts() {
  constexpr std::array<hsize_t, 2> chunk{7, 3};
  std::vector<Layout> all{{"compact", {}}, {"unwritten", {}}, {"scaled", {}}, {"nbit", {}}};
  all[0].creation.setLayout(H5D_COMPACT);
  all[2].creation.setChunk(2, chunk.data());
  H5Pset_scaleoffset(all[2].creation.getId(), H5Z_SO_INT, H5Z_SO_INT_MINBITS_DEFAULT);
  all[3].creation.setChunk(2, chunk.data());
  H5Pset_nbit(all[3].creation.getId());
  all.push_back({"plain", {}, false});
  all.push_back({"packed", {}, false});
  all.back().creation.setChunk(2, chunk.data());
  all.back().creation.setDeflate(4);
  return all;
}

constexpr hsize_t file_rows = 60, row_values = 5;

void write_layouts(const fs::path& path) {
  const H5::H5File file(path.c_str(), H5F_ACC_TRUNC);
  const std::array<hsize_t, 2> extents{file_rows, row_values};
  const std::vector<std::byte> values = noise(file_rows * row_values * 2);
  for (const Layout& layout : layouts()) {
    const H5::DataSet data = file.createDataSet(layout.name, P::STD_I16BE,
                                                H5::DataSpace(2, extents.data()), layout.creation);
    if (layout.name != "unwritten") data.write(values.data(), P::NATIVE_INT16);
  }
  const std::int32_t rate = 250;
  file.createAttribute("rate", P::STD_I32LE, H5::DataSpace(H5S_SCALAR))
      .write(P::NATIVE_INT32, &rate);
  file.createAttribute("other", P::STD_I32LE, H5::DataSpace(H5S_SCALAR))
      .write(P::NATIVE_INT32, &rate);
}

Hdf5Table table(const fs::path& path, const std::string& dataset, Residence residence) {
  return Hdf5Table({.file = path,
                    .fields = {{"x", dataset}},
                    .memory = 1_MiB,
                    .residence = residence,
                    .attributes = {"rate"}});
}

/// Kilobytes of the largest process that ended so far.
long most_of_a_child() {
  rusage used{};
  ::getrusage(RUSAGE_CHILDREN, &used);
  return used.ru_maxrss;
}

double child_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_CHILDREN, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace

TEST_CASE("a helper gives what the library gives in this process") {
  const TemporaryFolder folder;
  const fs::path path = folder / "layouts.h5";
  write_layouts(path);
  const std::vector<std::int64_t> indices = scattered(file_rows, 200);
  for (const Layout& layout : layouts()) {
    for (const Residence residence : every_way) {
      if (residence == Residence::pread && layout.by_library) continue;
      CAPTURE(layout.name);
      CAPTURE(int(residence));
      use_hdf5_helper(false);
      const Hdf5Table here = table(path, layout.name, residence);
      const auto expected = gathered(here, indices);
      const InHelper used;
      const Hdf5Table there = table(path, layout.name, residence);
      CHECK(gathered(there, indices) == expected);
      CHECK(one_by_one(there, indices) == expected);
      CHECK(there.notes() == here.notes());
      REQUIRE(there.attributes().size() == 1);
      CHECK(there.attributes()[0].value.values<std::int32_t>()[0] == 250);
      const bool through =
          residence == Residence::library || (residence == Residence::file && layout.by_library);
      CHECK(helpers().size() == (through ? 1 : 0));
    }
  }
  CHECK(helpers().empty());
}

TEST_CASE("datasets are listed by a helper as by the library, and errors have their kinds") {
  const TemporaryFolder folder;
  const fs::path path = folder / "layouts.h5";
  write_layouts(path);
  use_hdf5_helper(false);
  const auto expected = hdf5_datasets(path);
  CHECK(expected.size() == layouts().size());
  const auto missing = [&] {
    return message_of<ConfigError>([&] { table(path, "absent", Residence::automatic); });
  };
  const std::string here = missing();
  const InHelper used;
  CHECK(hdf5_datasets(path) == expected);
  CHECK(missing() == here);
  CHECK(contains(here, "there is no dataset \"absent\""));
  CHECK_THROWS_AS(table(folder / "none.h5", "x", Residence::automatic), ConfigError);
  std::ofstream(folder / "text.h5") << "no HDF5 file";
  CHECK_THROWS_AS(table(folder / "text.h5", "x", Residence::automatic), DataError);
}

TEST_CASE("a helper that was ended while it was idle is followed by another") {
  const TemporaryFolder folder;
  const fs::path path = folder / "layouts.h5";
  write_layouts(path);
  const InHelper used;
  const std::vector<std::int64_t> indices = scattered(file_rows, 30);
  const Hdf5Table rows = table(path, "scaled", Residence::library);
  const auto expected = gathered(rows, indices);
  for (int round = 0; round < 3; ++round) {
    const std::vector<pid_t> running = helpers();
    REQUIRE(running.size() == 1);
    ::kill(running[0], SIGKILL);
    CHECK(gathered(rows, indices) == expected);
  }
  // What was changed meanwhile is not read, by the new one as little as by the old one.
  ::kill(helpers().at(0), SIGKILL);
  std::ofstream(path, std::ios::binary | std::ios::app) << "more";
  for (int round = 0; round < 2; ++round) {
    const std::string message = message_of<PipelineError>([&] { gathered(rows, indices); });
    CHECK(contains(message, "layouts.h5 was changed"));
  }
}

TEST_CASE("a helper tells of a file that is changed while it reads it, and of one in the making") {
  const TemporaryFolder folder;
  const fs::path path = folder / "layouts.h5";
  write_layouts(path);
  for (const bool there : {true, false}) {
    CAPTURE(there);
    const InHelper used;
    use_hdf5_helper(there);
    const int writer = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    REQUIRE(::flock(writer, LOCK_EX) == 0);
    const std::string locked =
        message_of<DataError>([&] { table(path, "scaled", Residence::library); });
    CHECK_MESSAGE(contains(locked, "layouts.h5: cannot be opened"), locked);
    CHECK(contains(locked, "that nobody is writing it"));
    ::close(writer);
    const Hdf5Table rows = table(path, "scaled", Residence::library);
    const std::vector<std::int64_t> indices = scattered(file_rows, 30);
    REQUIRE(gathered(rows, indices)[0].size() == 30 * row_values * 2);
    fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(3));
    const std::string message = message_of<PipelineError>([&] { gathered(rows, indices); });
    CHECK_MESSAGE(contains(message, "layouts.h5 was changed"), message);
  }
}

TEST_CASE("a helper that follows another notices that a source of the file was changed") {
  const TemporaryFolder folder;
  constexpr hsize_t count = 8;
  const H5::DataSpace all(1, &count);
  const auto write_source = [&](const H5::DataType& type) {
    const std::vector<std::int16_t> values(count, 3);
    H5::H5File((folder / "new.h5").c_str(), H5F_ACC_TRUNC)
        .createDataSet("x", type, all)
        .write(values.data(), P::NATIVE_INT16);
    fs::rename(folder / "new.h5", folder / "source.h5");
  };
  write_source(P::STD_I16LE);
  const fs::path path = folder / "all.h5";
  {
    const H5::DSetCreatPropList creation;
    H5Pset_virtual(creation.getId(), all.getId(), "source.h5", "x", all.getId());
    H5::H5File(path.c_str(), H5F_ACC_TRUNC).createDataSet("x", P::STD_I16LE, all, creation);
  }
  const InHelper used;
  const Hdf5Table rows = table(path, "x", Residence::library);
  const std::vector<std::int64_t> indices = scattered(count, 30);
  std::int16_t first = 0;
  std::memcpy(&first, gathered(rows, indices)[0].data(), sizeof first);
  CHECK(first == 3);
  REQUIRE(helpers().size() == 1);
  ::kill(helpers()[0], SIGKILL);
  write_source(P::STD_I32BE);
  const std::string message = message_of<PipelineError>([&] { gathered(rows, indices); });
  CHECK(contains(message, "all.h5: it or a file that it takes data from was changed"));
}

TEST_CASE("a helper that is ended at its work is an error that is not the file's") {
  const TemporaryFolder folder;
  const fs::path path = folder / "layouts.h5";
  write_layouts(path);
  const InHelper used;
  const Hdf5Table rows = table(path, "scaled", Residence::library);
  const std::vector<std::int64_t> indices = scattered(file_rows, 30);
  const auto expected = gathered(rows, indices);
  std::atomic<bool> done{false};
  std::thread killer([&] {
    while (!done)
      for (const pid_t helper : helpers())
        ::kill(helper, SIGKILL);
  });
  const std::string message = message_of<ResourceError>([&] {
    for (int round = 0; round < 1000; ++round)
      gathered(rows, indices);
  });
  done = true;
  killer.join();
  CHECK(contains(message, "layouts.h5"));
  CHECK(contains(message, "ended by SIGKILL while it"));
  CHECK(gathered(rows, indices) == expected);
}

TEST_CASE("a virtual dataset of many files is read by a helper, and a place larger than a window") {
  const TemporaryFolder folder;
  constexpr hsize_t sources = 250, values = 64;
  const H5::DSetCreatPropList creation;
  const std::array<hsize_t, 2> extents{sources, values};
  const H5::DataSpace all(2, extents.data()), one(1, &values);
  for (hsize_t i = 0; i < sources; ++i) {
    const std::string name = "source-" + std::to_string(i) + ".h5";
    const std::vector<std::int32_t> row(values, static_cast<std::int32_t>(i));
    H5::H5File((folder / name).c_str(), H5F_ACC_TRUNC)
        .createDataSet("x", P::STD_I32LE, one)
        .write(row.data(), P::NATIVE_INT32);
    const std::array<hsize_t, 2> start{i, 0}, count{1, values};
    all.selectHyperslab(H5S_SELECT_SET, count.data(), start.data());
    H5Pset_virtual(creation.getId(), all.getId(), name.c_str(), "x", one.getId());
  }
  const fs::path path = folder / "all.h5";
  {
    const H5::H5File file(path.c_str(), H5F_ACC_TRUNC);
    file.createDataSet("x", P::STD_I32LE, H5::DataSpace(2, extents.data()), creation);
    const std::array<hsize_t, 2> large{2, hsize_t{5} << 20}, chunk{1, hsize_t{1} << 20};
    H5::DSetCreatPropList scaled;
    scaled.setChunk(2, chunk.data());
    H5Pset_scaleoffset(scaled.getId(), H5Z_SO_INT, H5Z_SO_INT_MINBITS_DEFAULT);
    const std::vector<std::int32_t> ones(large[0] * large[1], 1);
    file.createDataSet("large", P::STD_I32LE, H5::DataSpace(2, large.data()), scaled)
        .write(ones.data(), P::NATIVE_INT32);
  }
  const InHelper used;
  const Hdf5Table rows(
      {.file = path, .fields = {{"x", "x"}}, .memory = 1_MiB, .residence = Residence::library});
  const std::vector<std::int64_t> indices = scattered(sources, 600);
  const auto bytes = gathered(rows, indices).front();
  for (std::size_t i = 0; i < indices.size(); ++i)
    CHECK(std::memcmp(&bytes[i * values * 4], &indices[i], 4) == 0);
  for (const Residence residence : {Residence::resident, Residence::library}) {
    const Hdf5Table large(
        {.file = path, .fields = {{"x", "large"}}, .memory = 128_MiB, .residence = residence});
    const std::array<std::int64_t, 2> both{1, 0};
    const auto values_of = gathered(large, both).front();
    std::int32_t last = 0;
    std::memcpy(&last, values_of.data() + values_of.size() - 4, 4);
    CHECK(last == 1);
  }
}

TEST_CASE("no process is started unasked") {
  const TemporaryFolder folder;
  const fs::path path = folder / "layouts.h5";
  write_layouts(path);
  use_hdf5_helper(false);
  const Hdf5Table rows = table(path, "scaled", Residence::library);
  CHECK(helpers().empty());
  const InHelper restored;
}

TEST_CASE("files that crash the library, or never let it return, are errors by name") {
  const TemporaryFolder folder;
  const InHelper used;
  for (const fs::path& path : write_hostile_files(folder.path())) {
    CAPTURE(path.filename());
    const double before = child_seconds();
    int rows = 0;
    for (const Residence residence : {Residence::automatic, Residence::file, Residence::library}) {
      for (const std::string dataset : {"x", "h"}) {
        try {
          const Hdf5Table opened({.file = path,
                                  .fields = {{"x", dataset}},
                                  .memory = 64_MiB,
                                  .residence = residence,
                                  .attributes = {"*"}});
          gathered(opened, scattered(opened.size(), 16));
          ++rows;
        } catch (const Error& error) {
          CHECK_MESSAGE(contains(error.what(), path.filename().string()), error.what());
        }
      }
    }
    try {
      hdf5_datasets(path);
    } catch (const Error& error) {
      CHECK(contains(error.what(), path.filename().string()));
    }
    CHECK(rows == 0);
    CHECK((child_seconds() - before) < 7 * 5.0);  // a call has 4 seconds of processor time
  }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  CHECK(most_of_a_child() < 300 * 1024);
#endif
}

}  // namespace headrace::test
