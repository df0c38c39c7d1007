#include <headrace/benchmarks/peers/hdf5/sections.h>
#include <headrace/loaders/hdf5/hdf5_helper.h>
#include <headrace/loaders/hdf5/hdf5_thread.h>

#include <array>
#include <cstdio>

#include <H5Cpp.h>

namespace headrace::inline v1::bench {

namespace {

std::shared_ptr<const Hdf5Table> table(const DataSet& data, Residence residence,
                                       std::size_t memory) {
  make(data);
  return std::make_shared<const Hdf5Table>(
      Hdf5TableOptions{.file = data.file,
                       .fields = {{.dataset = "row"}, {.dataset = "label"}},
                       .memory = memory,
                       .residence = residence});
}

std::string title(const DataSet& data, const char* how) {
  return std::to_string(data.rows) + " rows of " + std::to_string(data.row_bytes()) + " bytes, " +
         how;
}

void show(const Bench& bench, const std::string& title, std::vector<Contender> contenders,
          const std::string& reference) {
  std::erase_if(contenders, [](const Contender& contender) { return !contender.run; });
  bench.report.add(title, "rows/s", compare(contenders, bench.repeats), reference);
}

/// Full batches only, several passes, so that starting and ending an epoch weighs little.
std::int64_t epoch_rows(const DataSet& data, int passes) {
  return data.rows / batch_rows * batch_rows * passes;
}

/// Rows that a slow contender is given: whole batches, about a second's work.
std::int64_t some(const DataSet& data, double a_second) {
  const auto batches = static_cast<std::int64_t>(a_second) / batch_rows;
  return std::min(std::max<std::int64_t>(batches, 1), data.rows / batch_rows) * batch_rows;
}

/// A run after the file has left the page cache.
std::function<double()> cold(const DataSet& data, std::function<double()> run) {
  return [file = data.file, run = std::move(run)] {
    forget(file);
    return run();
  };
}

}  // namespace

void contiguous_resident(const Bench& bench, const DataSet& data) {
  const auto source = table(data, Residence::resident, 8_GiB);
  const Shuffled order{.seed = order_seed, .epoch_size = epoch_rows(data, 4)};
  const double rate = 640.0 / static_cast<double>(data.row_bytes());
  show(
      bench, title(data, "contiguous, resident, random order"),
      {{"bare threads (limit)", bare_rows(source, order.bind(data.rows))},
       {"headrace", through_loader(source, order)},
       {"h5py + DataLoader, a batch a call",
        bench.python.contender("per_batch", data, some(data, 2e5 * rate))},
       {"h5py + DataLoader, a row a call",
        bench.python.contender("per_row", data, some(data, 4e4 * rate))},
       {"h5py fancy index, no loader",
        bench.python.contender("fancy", data, some(data, 1.5e5 * rate))},
       {"h5py slices in order, no loader",
        bench.python.contender("slices", data, some(data, 1e6 * rate))},
       {"hidefix slices in order", bench.python.contender("hidefix", data, some(data, 1e6 * rate))},
       {"H5Dread a row, 1 thread",
        library_rows(data, order.bind(data.rows), 1, some(data, 2e4 * rate))},
       {"H5Dread a row, 2 threads",
        library_rows(data, order.bind(data.rows), 2, some(data, 2e4 * rate))}},
      "bare threads (limit)");
}

void contiguous_from_file(const Bench& bench, const DataSet& data, bool is_cold) {
  // Room for the labels alone.
  const auto source =
      table(data, Residence::automatic, static_cast<std::size_t>(data.rows) * 8 + 64_KiB);
  const Shuffled order{.seed = order_seed,
                       .epoch_size = is_cold ? some(data, 16384) : epoch_rows(data, 1)};
  auto bare = bare_preads(data, source, order.bind(data.rows));
  auto ours = through_loader(source, order);
  if (is_cold) {
    bare = cold(data, std::move(bare));
    ours = cold(data, std::move(ours));
  }
  show(bench,
       title(data, is_cold ? "contiguous, from a cold disk, random order"
                           : "contiguous, from the page cache, random order"),
       {{"bare pread a row, 4 threads (limit)", bare}, {"headrace", ours}},
       "bare pread a row, 4 threads (limit)");
}

void packed_by_chunk(const Bench& bench, const DataSet& data) {
  // The labels, and a fifth of the chunks or next to none: those that fit stay for the next epoch.
  const auto source = table(data, Residence::cached, 34_MiB);
  const auto small = table(data, Residence::cached, 4_MiB);
  const ShuffledByChunk order{.seed = order_seed,
                              .chunk = source->chunk_rows(),
                              .window = 16,
                              .epoch_size = epoch_rows(data, 4)};
  show(bench, title(data, "gzip and shuffle, chunk-aware order"),
       {{"bare libdeflate and unshuffle (limit)", bare_chunks(data, source)},
        {"headrace, cache of 2 MiB", through_loader(small, order)},
        {"headrace, cache of 32 MiB", through_loader(source, order)},
        {"h5py + DataLoader, whole chunks", bench.python.contender("chunks", data, data.rows)},
        {"h5py slices in order, no loader", bench.python.contender("slices", data, data.rows / 4)},
        {"hidefix slices in order", bench.python.contender("hidefix", data, data.rows / 4)}},
       "bare libdeflate and unshuffle (limit)");
}

void packed_random(const Bench& bench, const DataSet& data, const DataSet& contiguous) {
  const auto source = table(data, Residence::cached, 2_GiB);
  const auto resident = table(contiguous, Residence::resident, 8_GiB);
  const Shuffled order{.seed = order_seed, .epoch_size = epoch_rows(data, 4)};
  const double rate = 640.0 / static_cast<double>(data.row_bytes());
  show(bench, title(data, "gzip and shuffle, random order, the cache holds the set"),
       {{"headrace, contiguous, resident", through_loader(resident, order)},
        {"headrace, gzip and shuffle", through_loader(source, order)},
        {"h5py + DataLoader, a batch a call",
         bench.python.contender("per_batch", data, some(data, 8192 * rate))},
        {"h5py fancy index, no loader",
         bench.python.contender("fancy", data, some(data, 8192 * rate))},
        {"H5Dread a row, 1 thread", library_rows(data, order.bind(data.rows), 1, 512)},
        {"H5Dread a row, 2 threads", library_rows(data, order.bind(data.rows), 2, 512)}},
       "headrace, contiguous, resident");
}

void opening(const Bench& bench) {
  const DataSet data{
      .file = bench.folder / "chunks-50000.h5", .rows = 50'000, .row = {16}, .chunk = 1};
  make(data);
  const auto open = [&](bool keep) {
    const double begun = seconds();
    const Hdf5Table table({.file = data.file,
                           .fields = {{.dataset = "row"}},
                           .memory = 1_MiB,
                           .residence = Residence::pread,
                           .keep_index = keep});
    return 1e3 * (seconds() - begun);
  };
  std::array<std::vector<double>, 2> fresh, kept;  // here, and in a helper process
  open(true);
  for (int i = 0; i < bench.repeats; ++i) {
    for (const bool helper : {false, true}) {
      use_hdf5_helper(helper);
      fresh[helper].push_back(open(false));
      kept[helper].push_back(open(true));
    }
  }
  use_hdf5_helper(false);
  for (const bool helper : {false, true}) {
    std::printf("\nopening 50000 chunks %s: %.1f ms, with the index kept beside the file %.1f ms\n",
                helper ? "in a helper process" : "in this process", median(fresh[helper]),
                median(kept[helper]));
  }
}

}  // namespace headrace::inline v1::bench
