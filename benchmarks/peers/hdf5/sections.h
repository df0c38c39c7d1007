#pragma once

#include <headrace/benchmarks/harness/report.h>
#include <headrace/benchmarks/peers/hdf5/peers.h>

#include <filesystem>

namespace headrace::inline v1::bench {

/// One comparison of this benchmark: its files, its peers, how often.
struct Bench {
  std::filesystem::path folder;
  PythonPeers& python;
  Report& report;
  int repeats;
};

void contiguous_resident(const Bench& bench, const DataSet& data);
void contiguous_from_file(const Bench& bench, const DataSet& data, bool cold);
void packed_by_chunk(const Bench& bench, const DataSet& data);
void packed_random(const Bench& bench, const DataSet& data, const DataSet& contiguous);
void opening(const Bench& bench);

}  // namespace headrace::inline v1::bench
