#include <headrace/loaders/hdf5/hdf5_datasets.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/hdf5_files.h>
#include <headrace/tests/support/skip.h>
#include <headrace/tests/support/source_folder.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// An interpreter with h5py and hdf5plugin: HEADRACE_H5PY_PYTHON, else the one on the path.
std::string python() {
  const char* named = std::getenv("HEADRACE_H5PY_PYTHON");
  const std::string program = named != nullptr ? named : "python3";
  const std::string probe = program + " -c 'import h5py, hdf5plugin' >/dev/null 2>&1";
  return std::system(probe.c_str()) == 0 ? program : std::string();
}

}  // namespace

TEST_CASE("files of h5py and hdf5plugin read as h5py reads them, past the library") {
  const std::string program = python();
  if (program.empty()) return skip("needs Python with h5py and hdf5plugin (HEADRACE_H5PY_PYTHON)");
  const TemporaryFolder folder;
  const std::string script = program + " " + headrace::test::source_folder() +
                             "/tests/loaders/hdf5_h5py.py " + (folder / "").string();
  REQUIRE(std::system(script.c_str()) == 0);
  int datasets = 0;
  for (const char* version : {"earliest", "v110"}) {
    const fs::path path = folder / (std::string(version) + ".h5");
    for (const std::string& dataset : hdf5_datasets(path)) {
      CAPTURE(dataset);
      const auto raw = contents(folder / (std::string(version) + "-" + dataset.substr(1) + ".raw"));
      for (const std::size_t memory : {std::size_t{4096}, std::size_t{1} << 20}) {
        const Hdf5Table table({.file = path,
                               .fields = {{.name = "x", .dataset = dataset}},
                               .memory = memory,
                               .residence = Residence::pread});
        std::vector<std::int64_t> indices = scattered(table.size(), 60);
        indices.resize(60 + static_cast<std::size_t>(table.size()));
        std::iota(indices.begin() + 60, indices.end(), std::int64_t{0});
        const std::size_t row_bytes = raw.size() / static_cast<std::size_t>(table.size());
        CHECK(gathered(table, indices)[0] == pick(raw, row_bytes, indices));
        ++datasets;
      }
    }
  }
  CHECK(datasets == 2 * 2 * 10 * 4 * 14);
}

}  // namespace headrace::test
