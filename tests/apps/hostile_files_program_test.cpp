// What the programs make of HDF5 files that crash the library, or never let it return.
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/loaders/hostile_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

namespace fs = std::filesystem;
using headrace::test::contains;
using headrace::test::Finished;
using headrace::test::run_headrace;
using headrace::test::TemporaryFolder;
using headrace::test::write_hostile_files;

/// A run that was refused for the file, by name, and by no accident.
void check_refused(const Finished& run, const fs::path& file) {
  INFO(file.filename().string(), ": ", run.err);
  CHECK((run.status == 3 || run.status == 4));
  CHECK(contains(run.err, file.filename().string()));
  CHECK_FALSE(contains(run.err, "headrace stopped unexpectedly"));
}

}  // namespace

TEST_CASE("inspect, bench and pack name a hostile HDF5 file and end with 3 or 4") {
  const TemporaryFolder folder;
  for (const fs::path& file : write_hostile_files(folder.path())) {
    CAPTURE(file.filename());
    std::ofstream(folder.path() / "loader.yaml")
        << "kind: loader\nbatch: 4\ndata: {source: hdf5, file: " << file.filename().string()
        << ", datasets: [x]}\n";
    check_refused(run_headrace(folder.path(), {"inspect", "loader.yaml", "--sheet", ""}), file);
    check_refused(run_headrace(folder.path(), {"bench", "loader", "loader.yaml"}), file);
    check_refused(
        run_headrace(folder.path(), {"pack", "table", file.filename().string(), "out.h5"}), file);
    CHECK_FALSE(fs::exists(folder.path() / "out.h5"));
  }
}

TEST_CASE("a job on a hostile HDF5 file is refused by name") {
  const TemporaryFolder folder;
  for (const fs::path& file : write_hostile_files(folder.path())) {
    CAPTURE(file.filename());
    std::ofstream(folder.path() / "job.yaml")
        << "kind: classification\ndata: {train: {source: hdf5, file: " << file.filename().string()
        << ", data: x, labels: x}}\n";
    check_refused(run_headrace(folder.path(), {"inspect", "job.yaml"}), file);
#ifdef HEADRACE_TRAINS
    check_refused(run_headrace(folder.path(), {"train", "job.yaml"}), file);
#endif
    check_refused(run_headrace(folder.path(), {"new", "classification", "--data",
                                               file.filename().string(), "--output", "new.yaml"}),
                  file);
  }
}
