#pragma once

#include <headrace/benchmarks/harness/harness.h>
#include <headrace/engine/headrace.h>
#include <headrace/loaders/hdf5/hdf5_table.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace headrace::inline v1::bench {

constexpr std::uint64_t order_seed = 7;
constexpr std::int64_t batch_rows = 8192;
constexpr int threads = 2;
constexpr int io_threads = 4;
constexpr int ring = 6;

/// A data set of this benchmark: samples "row" of float16 and an int64 "label", in one file.
struct DataSet {
  std::filesystem::path file;
  std::int64_t rows = 0;
  std::vector<std::int64_t> row;  ///< shape of a sample
  std::int64_t chunk = 0;         ///< rows of a chunk, shuffle and gzip 4; 0: contiguous

  std::size_t row_bytes() const {
    std::size_t bytes = 2;
    for (const std::int64_t extent : row)
      bytes *= static_cast<std::size_t>(extent);
    return bytes;
  }
};

/// Makes the file when it is not there: values like those of a log-mel spectrogram.
void make(const DataSet& data);

using Order = std::shared_ptr<const IndexStream>;

/// The pipeline: one epoch through a loader that lives as long as the returned function. Nothing is
/// prepared between two calls.
std::function<double()> through_loader(std::shared_ptr<const Source> source, const auto& order) {
  LoaderOptions options;
  options.runtime = Runtime({.threads = threads, .io_threads = io_threads});
  options.join_epochs = false;
  auto loader = std::make_shared<Loader>(Pipeline::from(std::move(source))
                                             .order(order)
                                             .batch({.size = batch_rows, .tail = Tail::drop})
                                             .build(options));
  auto epoch = std::make_shared<std::int64_t>(0);
  return [loader, epoch] {
    double rows = 0;
    for (Batch& batch : loader->epoch((*epoch)++))
      rows += static_cast<double>(batch.size());
    return rows;
  };
}

/// Limits. The same fields into the same ring of slabs in the same order, in bare threads:
/// from memory,
std::function<double()> bare_rows(std::shared_ptr<const Source> source, Order order);
/// by one `pread` a row (labels from memory),
std::function<double()> bare_preads(const DataSet& data, std::shared_ptr<const Hdf5Table> table,
                                    Order order);
/// and, without any rows: pread, inflate and unshuffle of every chunk once.
std::function<double()> bare_chunks(const DataSet& data, std::shared_ptr<const Hdf5Table> table);

/// H5Dread of one row at a time, in the order given, by so many threads.
std::function<double()> library_rows(const DataSet& data, Order order, int crew, std::int64_t rows);

/// Contenders in Python, in a process that stays: each runs so many samples and says how many.
class PythonPeers {
 public:
  /// `python` has h5py, numpy and torch; empty or without them: there are no such contenders.
  PythonPeers(const std::filesystem::path& python, const std::filesystem::path& script);
  ~PythonPeers();
  PythonPeers(const PythonPeers&) = delete;
  PythonPeers& operator=(const PythonPeers&) = delete;

  bool has(const std::string& what) const;
  /// `what`: per_row, per_batch, chunks, fancy, slices or hidefix.
  std::function<double()> contender(const std::string& what, const DataSet& data,
                                    std::int64_t rows);

 private:
  std::string ask(const std::string& line);
  int to_ = -1;
  int from_ = -1;
  int child_ = -1;
  std::string buffer_;
  std::string known_;
};

/// Puts a file's pages out of the page cache.
void forget(const std::filesystem::path& file);

}  // namespace headrace::inline v1::bench
