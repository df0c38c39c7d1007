#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/hdf5_datasets.h>
#include <headrace/loaders/hdf5/hdf5_helper.h>
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/tests/loaders/hostile_files.h>
#include <headrace/tests/loaders/volume/whole_volume.h>
#include <headrace/tests/support/source_folder.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <H5Cpp.h>
#include <doctest/doctest.h>

namespace headrace::test {
namespace {

namespace fs = std::filesystem;

fs::path volumes() {
  return fs::path(headrace::test::source_folder()) / "tests/loaders/volume/data/volumes.h5";
}

/// Extents and chunk (empty: in one piece) of a dataset that counts up from 0.
struct Counted {
  std::string name;
  std::vector<hsize_t> extents, chunk;
};

fs::path write_counted(const fs::path& path, const std::vector<Counted>& datasets) {
  const H5::H5File file(path.string(), H5F_ACC_TRUNC);
  for (const Counted& dataset : datasets) {
    const hsize_t elements = std::accumulate(dataset.extents.begin(), dataset.extents.end(),
                                             hsize_t{1}, std::multiplies<>());
    std::vector<std::uint32_t> values(elements);
    std::iota(values.begin(), values.end(), 0U);
    const H5::DSetCreatPropList creation;
    if (!dataset.chunk.empty()) {
      creation.setChunk(static_cast<int>(dataset.chunk.size()), dataset.chunk.data());
      creation.setDeflate(1);
    }
    file.createDataSet(
            dataset.name, H5::PredType::STD_U32LE,
            H5::DataSpace(static_cast<int>(dataset.extents.size()), dataset.extents.data()),
            creation)
        .write(values.data(), H5::PredType::NATIVE_UINT32);
  }
  return path;
}

void check_counted(const Volume& volume) {
  const std::vector<std::byte> read = whole_volume(volume);
  std::vector<std::uint32_t> wanted(read.size() / 4);
  std::iota(wanted.begin(), wanted.end(), 0U);
  CHECK(!wanted.empty());
  CHECK(std::memcmp(read.data(), wanted.data(), read.size()) == 0);
}

/// The datasets of a file, as far as they can be listed, and none.
std::vector<std::string> names_in(const fs::path& path) {
  std::vector<std::string> names;
  try {
    names = hdf5_datasets(path);
  } catch (const Error&) {
  }
  names.emplace_back();
  return names;
}

}  // namespace

TEST_CASE("a block of an HDF5 volume is its chunk, or slices of one in one piece") {
  const TemporaryFolder folder;
  const fs::path path = write_counted(folder / "x.h5", {{"a", {40, 70, 90}, {16, 32, 32}},
                                                        {"b", {40, 170, 90}, {}},
                                                        {"c", {3, 10, 20, 30}, {2, 4, 8, 16}},
                                                        {"d", {2, 400, 1000}, {}}});
  const auto block = [&](const char* dataset) {
    const auto volume = open_volume(path, {.dataset = dataset});
    check_counted(*volume);
    return volume->info().block;
  };
  CHECK(block("a") == VolumeIndex{1, 16, 32, 32});
  CHECK(block("b") == VolumeIndex{1, 8, 170, 90});
  CHECK(block("c") == VolumeIndex{2, 4, 8, 16});
  CHECK(block("d") == VolumeIndex{1, 1, 131, 1000});
}

TEST_CASE("a dataset must be named where there are several, and be a volume") {
  const TemporaryFolder folder;
  const fs::path path = write_counted(
      folder / "x.h5", {{"line", {9}, {}}, {"many", {2, 2, 2, 2, 2}, {}}, {"raw", {2, 3, 4}, {}}});
  CHECK_THROWS_WITH_AS(open_volume(path), doctest::Contains("/line, /many, /raw"), ConfigError);
  CHECK_THROWS_WITH_AS(open_volume(path, {.dataset = "/nothing"}),
                       doctest::Contains("there is no dataset"), ConfigError);
  CHECK_THROWS_WITH_AS(open_volume(path, {.dataset = "/line"}),
                       doctest::Contains("x.h5:/line: must be numbers with 2 or more axes"),
                       DataError);
  CHECK_THROWS_WITH_AS(open_volume(path, {.dataset = "/many"}),
                       doctest::Contains("only ones before them, got 5 axes, the first of 2"),
                       DataError);
  CHECK(open_volume(path, {.dataset = "/raw"})->name() == path.string() + ":/raw");
}

TEST_CASE("an HDF5 volume beyond the limits is refused at opening") {
  const VolumeOptions small{.dataset = "/channels", .limits = {.block_bytes = 16}};
  CHECK_THROWS_AS(open_volume(volumes(), small), DataError);
  const VolumeOptions few{.dataset = "/channels", .limits = {.voxels = 100}};
  CHECK_THROWS_WITH_AS(open_volume(volumes(), few), doctest::Contains("at most 100 voxels"),
                       DataError);
}

TEST_CASE("an HDF5 volume that is cut while it is open ends the epoch") {
  const TemporaryFolder folder;
  fs::copy_file(volumes(), folder / "x.h5");
  for (const char* dataset : {"/piece", "/channels"}) {
    const auto volume = open_volume(folder / "x.h5", {.dataset = dataset});
    whole_volume(*volume);
    fs::resize_file(folder / "x.h5", 1000);
    CHECK_THROWS_AS(whole_volume(*volume), PipelineError);
    fs::remove(folder / "x.h5");
    fs::copy_file(volumes(), folder / "x.h5");
  }
}

TEST_CASE("HDF5 volumes are the same with the library in a helper, and from several threads") {
  const std::vector<std::string> names = hdf5_datasets(volumes());
  REQUIRE(names.size() >= 11);
  for (const std::string& dataset : names) {
    CAPTURE(dataset);
    const auto here = open_volume(volumes(), {.dataset = dataset});
    const std::vector<std::byte> wanted = whole_volume(*here);
    use_hdf5_helper(true);
    const auto helped = open_volume(volumes(), {.dataset = dataset});
    use_hdf5_helper(false);
    CHECK(whole_volume(*helped) == wanted);
    std::vector<std::vector<std::byte>> read(4);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < read.size(); ++i)
      threads.emplace_back([&, i] { read[i] = whole_volume(i % 2 == 0 ? *here : *helped); });
    for (std::thread& thread : threads)
      thread.join();
    for (const auto& mine : read)
      CHECK(mine == wanted);
  }
}

TEST_CASE("damaged HDF5 files opened as volumes are named errors and nothing else, with a helper") {
  const TemporaryFolder folder;
  use_hdf5_helper(true);
  int refused = 0;
  for (const fs::path& path : write_hostile_files(folder.path())) {
    CAPTURE(path);
    for (const std::string& dataset : names_in(path)) {
      try {
        const VolumeLimits limits{.voxels = 1 << 20, .block_bytes = 1 << 20};
        whole_volume(*open_volume(path, {.dataset = dataset, .limits = limits}));
      } catch (const Error& error) {
        CHECK(std::string(error.what()).find(path.stem().string()) != std::string::npos);
        ++refused;
      }
    }
  }
  use_hdf5_helper(false);
  CHECK(refused >= 26);
}

}  // namespace headrace::test
