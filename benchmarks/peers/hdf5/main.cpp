// Batches of 8192 samples out of HDF5: Headrace, its limits, the library, and what Python offers.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <headrace/benchmarks/peers/hdf5/sections.h>

using namespace headrace;
using namespace headrace::bench;

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "--help") {
    std::printf(
        "hdf5_peers [all|SECTION] [repeats] [folder] [python] [script]\n"
        "sections: resident warm cold chunks random opening; with -spectrograms (64 frames of 80 "
        "bands): resident-spectrograms, chunks-spectrograms ...\n");
    return 0;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string only = argc > 1 ? argv[1] : "all";
  const int repeats = argc > 2 ? std::atoi(argv[2]) : 5;
  const std::filesystem::path folder =
      argc > 3 ? argv[3] : std::filesystem::temp_directory_path() / "headrace-bench";
  PythonPeers python(
      argc > 4 ? argv[4] : "",
      argc > 5 ? argv[5] : std::filesystem::path(__FILE__).parent_path() / "peers.py");
  const Bench bench{folder, python, repeats};

  const DataSet rows{folder / "rows.h5", 1'000'000, {320}};
  const DataSet packed_rows{folder / "rows-gzip.h5", 262'144, {320}, 256};
  const DataSet few_rows{folder / "rows-few.h5", 262'144, {320}};
  const DataSet spectrograms{folder / "spectrograms.h5", 65'536, {80, 64}};
  const DataSet packed_spectrograms{folder / "spectrograms-gzip.h5", 16'384, {80, 64}, 16};
  const DataSet few_spectrograms{folder / "spectrograms-few.h5", 16'384, {80, 64}};

  const auto asked = [&](const std::string& name) { return only == "all" || only == name; };
  std::printf("%s\n%d workers, %d I/O threads, ring of %d slabs, medians of %d rounds in turn\n",
              machine_line().c_str(), threads, io_threads, ring, repeats);
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
