// What a pipeline costs beside bare threads that do the same work, and beside LibTorch's own
// loader.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

#include <headrace/benchmarks/harness/harness.h>
#include <headrace/benchmarks/loader/workload.h>
#include <headrace/loaders/memory/table.h>

using namespace headrace;
using namespace headrace::bench;

namespace {

Pipeline rows_of(std::shared_ptr<const Source> source, std::int64_t batch) {
  const Shuffled order = passes(*source);
  return Pipeline::from(std::move(source)).order(order).batch({.size = batch});
}

void compare_rows(const std::filesystem::path& folder, std::int64_t bytes, std::int64_t rows,
                  int repeats) {
  constexpr std::int64_t batch = 8192;
  const auto source = table(folder, rows, bytes);
  const std::int64_t block = bytes < 256 ? 1024 : 256;
  std::vector<Contender> contenders = {
      {"bare threads (limit)", bare_rows(source, batch, block)},
      {"headrace", through_loader(rows_of(source, batch))},
      {"torch::data, one get a row", torch_per_row(source, bytes, batch, rows)},
      {"torch::data, get_batch", torch_bulk(source, bytes, batch)}};
  std::erase_if(contenders, [](const Contender& c) { return !c.run; });
  print(
      "rows of " + std::to_string(bytes) + " bytes and a label, resident, random order, batch 8192",
      "rows", compare(contenders, repeats), "bare threads (limit)");
}

void compare_pictures(const std::filesystem::path& folder, int repeats) {
  const auto source = pictures(folder, 512);
  auto pipeline =
      Pipeline::from(source).order(passes(*source)).then(decode_224()).batch({.size = 64});
  const std::vector<Contender> contenders = {{"bare threads (limit)", bare_pictures(source, 64)},
                                             {"headrace", through_loader(std::move(pipeline))}};
  print("JPEG 500x375, random-resized crop to 224, flip, uint8 batch of 64", "images",
        compare(contenders, repeats), "bare threads (limit)");
}

void spin(double s) {
  const double until = seconds() + s;
  while (seconds() < until) {
  }
}

/// Memory rows whose index tells which of them are slow.
std::shared_ptr<const Source> numbered(std::int64_t rows) {
  Tensor number = Tensor::empty(DType::int64, Shape{rows});
  for (std::int64_t i = 0; i < rows; ++i)
    number.data<std::int64_t>()[i] = i;
  return std::make_shared<const Table>(std::vector<TableColumn>{{"number", number}});
}

void slow_sample() {
  constexpr double usual = 50e-6;
  auto pipeline = Pipeline::from(numbered(16384))
                      .order(Shuffled{.seed = order_seed})
                      .then([](Sample& s) {
                        spin(s["number"].item<std::int64_t>() % 512 == 0 ? 100 * usual : usual);
                      })
                      .batch({.size = 64});
  const auto free_run = through_loader(pipeline);
  free_run();
  const double begun = seconds();
  const double capacity = free_run() / (seconds() - begun);
  Loader loader = pipeline.build({.runtime = Runtime({.threads = threads})});
  const double step = 64.0 / (0.85 * capacity);
  double waited = 0;
  double total = 0;
  for (std::int64_t epoch = 0; epoch < 5; ++epoch) {
    double asked = seconds();
    int number = 0;
    for (Batch& batch : loader.epoch(epoch)) {
      const double got = seconds();
      batch = Batch();
      std::this_thread::sleep_for(std::chrono::duration<double>(step - 60e-6));
      if (++number > 8) {
        waited += got - asked;
        total += seconds() - asked;
      }
      asked = seconds();
    }
  }
  std::printf(
      "\none sample in 512 a hundred times slower: capacity %.0f samples/s; a consumer at 85 %% of "
      "it waits %.2f %%\n",
      capacity, 100 * waited / total);
}

void idle(const std::filesystem::path& folder) {
  Loader loader =
      rows_of(table(folder, 200'000, 128), 8192).build({.runtime = Runtime({.threads = threads})});
  for (Batch& batch : loader.epoch(0))
    (void)batch;
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const double cpu = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::seconds(3));
  std::printf("\nan idle loader uses %.4f core\n", (cpu_seconds() - cpu) / 3.0);
}

void statistics(const std::filesystem::path& folder, int repeats) {
  const auto source = table(folder, 1'000'000, 640);
  LoaderOptions off;
  off.statistics = false;
  const std::vector<Contender> contenders = {
      {"without statistics", through_loader(rows_of(source, 8192), off)},
      {"with statistics", through_loader(rows_of(source, 8192))}};
  print("cost of statistics, rows of 640 bytes", "rows", compare(contenders, repeats),
        "without statistics");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string only = argc > 1 ? argv[1] : "all";
  const int repeats = argc > 2 ? std::atoi(argv[2]) : 9;
  const std::filesystem::path folder =
      argc > 3 ? argv[3] : std::filesystem::temp_directory_path() / "headrace-bench";
  const auto asked = [&](const char* name) { return only == "all" || only == name; };
  if (only == "--help") {
    std::printf(
        "loader_benchmark [all|rows128|rows640|pictures|slow|idle|statistics] [repeats] "
        "[folder]\n");
    return 0;
  }
  std::printf("%s\n%d threads, ring of %d slabs, medians of %d rounds in turn\n",
              machine_line().c_str(), threads, ring, repeats);
  if (asked("rows128")) compare_rows(folder, 128, 2'000'000, repeats);
  if (asked("rows640")) compare_rows(folder, 640, 1'000'000, repeats);
  if (asked("pictures")) compare_pictures(folder, repeats);
  if (asked("slow")) slow_sample();
  if (asked("idle")) idle(folder);
  if (asked("statistics")) statistics(folder, repeats);
}
