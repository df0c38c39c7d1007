#pragma once

#include <headrace/engine/headrace.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/loaders/image/decode_image.h>
#include <headrace/loaders/image/image_folder.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace headrace::inline v1::bench {

/// Seed, slabs and, where nothing else is asked for, threads of every contender of this folder.
constexpr std::uint64_t order_seed = 7;
constexpr int threads = 2;
constexpr int ring = 6;

/// Rows of `bytes` and an int64 label in a contiguous HDF5 file under `folder`, made once.
std::filesystem::path table_file(const std::filesystem::path& folder, std::int64_t rows,
                                 std::int64_t bytes);
/// The same, opened resident.
std::shared_ptr<const Hdf5Table> table(const std::filesystem::path& folder, std::int64_t rows,
                                       std::int64_t bytes);

/// Float16 rows of `bytes` and an int64 label, in chunks of chunk_rows rows, shuffled and packed by
/// Zstandard, made once.
constexpr std::int64_t chunk_rows = 256;
std::filesystem::path chunked_file(const std::filesystem::path& folder, std::int64_t rows,
                                   std::int64_t bytes);

/// A folder of `files` pictures of 500 x 375 at quality 90, two classes, about 35 KB each, made
/// once.
std::filesystem::path picture_folder(const std::filesystem::path& folder, int files);
std::shared_ptr<const ImageFolder> pictures(const std::filesystem::path& folder, int files);

DecodeImage decode_224();

/// The order of every contender: four passes an epoch, so that starting and ending one weighs
/// little.
Shuffled passes(const Source& source);

/// The pipeline: one epoch through a loader that lives as long as the returned function. Nothing is
/// prepared between two calls.
std::function<double()> through_loader(Pipeline pipeline, LoaderOptions options = {});

/// The limit: the same fields into the same ring of slabs in the same order, in bare threads.
std::function<double()> bare_rows(std::shared_ptr<const Source> source, std::int64_t batch,
                                  std::int64_t block, int workers = threads);
std::function<double()> bare_pictures(std::shared_ptr<const ImageFolder> source, std::int64_t batch,
                                      int workers = threads);
/// Every chunk of chunked_file() read and decoded once, four times over, into memory of its thread.
std::function<double()> bare_chunks(const std::filesystem::path& file, int workers);

/// LibTorch's own loader on the same rows: one `get` a row and a stack, or one `get_batch`.
/// Empty where the build has no LibTorch.
std::function<double()> torch_per_row(std::shared_ptr<const Hdf5Table> source, std::int64_t bytes,
                                      std::int64_t batch, std::int64_t rows);
std::function<double()> torch_bulk(std::shared_ptr<const Hdf5Table> source, std::int64_t bytes,
                                   std::int64_t batch);

}  // namespace headrace::inline v1::bench
