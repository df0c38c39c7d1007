// Batches of 8192 samples out of HDF5: Headrace, its limits, the library, and what Python offers.
#include <headrace/benchmarks/peers/hdf5/sections.h>

#include <algorithm>
#include <cstdio>
#include <string>

using namespace headrace;
using namespace headrace::bench;

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  Options options("hdf5_peers", "batches of 8192 samples out of HDF5, beside peers and limits");
  options
      .add("only", "all",
           "resident, warm, cold, chunks, random, opening; resident-spectrograms and so on (64 "
           "frames of 80 bands); or all")
      .add("repeats", "5", "rounds in turn")
      .add("folder", (std::filesystem::temp_directory_path() / "headrace-bench").string(),
           "where data is made once")
      .add("python", "", "a Python with h5py, numpy and torch; none: no such contenders")
      .add("script", (std::filesystem::path(__FILE__).parent_path() / "peers.py").string(),
           "the Python contenders")
      .add_json()
      .take_words({"only", "repeats", "folder", "python", "script"});
  options.parse(argc, argv);
  const std::filesystem::path folder = options.text("folder");
  PythonPeers python(options.text("python"), options.text("script"));
  Report report("hdf5_peers", options);
  const Bench bench{folder, python, report, options.number("repeats")};

  const DataSet rows{folder / "rows.h5", 1'000'000, {320}};
  const DataSet packed_rows{folder / "rows-gzip.h5", 262'144, {320}, 256};
  const DataSet few_rows{folder / "rows-few.h5", 262'144, {320}};
  const DataSet spectrograms{folder / "spectrograms.h5", 65'536, {80, 64}};
  const DataSet packed_spectrograms{folder / "spectrograms-gzip.h5", 16'384, {80, 64}, 16};
  const DataSet few_spectrograms{folder / "spectrograms-few.h5", 16'384, {80, 64}};

  const auto asked = [&](const char* name) { return options.asks_for("only", name); };
  std::printf("%d workers, %d I/O threads, ring of %d slabs, medians of %d rounds in turn\n",
              threads, io_threads, ring, bench.repeats);
  if (asked("resident")) contiguous_resident(bench, rows);
  if (asked("warm")) contiguous_from_file(bench, rows, false);
  if (asked("cold")) contiguous_from_file(bench, rows, true);
  if (asked("chunks")) packed_by_chunk(bench, packed_rows);
  if (asked("random")) packed_random(bench, packed_rows, few_rows);
  if (asked("resident-spectrograms")) contiguous_resident(bench, spectrograms);
  if (asked("warm-spectrograms")) contiguous_from_file(bench, spectrograms, false);
  if (asked("chunks-spectrograms")) packed_by_chunk(bench, packed_spectrograms);
  if (asked("random-spectrograms")) packed_random(bench, packed_spectrograms, few_spectrograms);
  if (asked("opening")) opening(bench);
}
