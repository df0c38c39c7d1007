#pragma once

#include <headrace/benchmarks/loader/workload.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

namespace headrace::inline v1::bench {

/// The files of a folder by index, with their lengths: what a bare reader needs to know.
struct Files {
  std::vector<std::filesystem::path> paths;
  std::vector<std::size_t> bytes;

  explicit Files(const ImageFolder& folder, const std::filesystem::path& root);
  double megabytes() const;
};

/// All returned functions read an epoch of `order` once, `depth` reads at a time.

/// Open, pread, close, into a buffer of the thread. Returns MB.
std::function<double()> bare_files(std::shared_ptr<const Files> files,
                                   std::shared_ptr<const IndexStream> order, int depth);
/// The same readers hand their bytes to as many decoders as the loader has workers. Returns images.
std::function<double()> bare_decoded(std::shared_ptr<const Files> files,
                                     std::shared_ptr<const IndexStream> order, int depth);
/// One pread a row, sorted within a block of neighbouring places, into a ring of slabs. Returns MB.
std::function<double()> bare_file_rows(const std::filesystem::path& file, const Hdf5Table& table,
                                       std::shared_ptr<const IndexStream> order, int depth);

}  // namespace headrace::inline v1::bench
