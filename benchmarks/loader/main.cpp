// What a pipeline costs beside bare threads that do the same work, and beside LibTorch's own
// loader.
#include <headrace/benchmarks/harness/report.h>
#include <headrace/benchmarks/loader/scaling.h>
#include <headrace/benchmarks/loader/workload.h>
#include <headrace/loaders/memory/table.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <thread>

using namespace headrace;
using namespace headrace::bench;

namespace {

/// Where figures go, and how many rounds.
struct Output {
  Report& report;
  int repeats;
};

Pipeline rows_of(std::shared_ptr<const Source> source, std::int64_t batch) {
  const Shuffled order = passes(*source);
  return Pipeline::from(std::move(source)).order(order).batch({.size = batch});
}

void compare_rows(const std::filesystem::path& folder, std::int64_t bytes, std::int64_t rows,
                  const Output& output) {
  constexpr std::int64_t batch = 8192;
  const auto source = table(folder, rows, bytes);
  const std::int64_t block = bytes < 256 ? 1024 : 256;
  std::vector<Contender> contenders = {
      {"bare threads (limit)", bare_rows(source, batch, block)},
      {"headrace", through_loader(rows_of(source, batch))},
      {"torch::data, one get a row", torch_per_row(source, bytes, batch, rows)},
      {"torch::data, get_batch", torch_bulk(source, bytes, batch)}};
  std::erase_if(contenders, [](const Contender& c) { return !c.run; });
  output.report.add(
      "rows of " + std::to_string(bytes) + " bytes and a label, resident, random order, batch 8192",
      "rows/s", compare(contenders, output.repeats), "bare threads (limit)");
}

void compare_pictures(const std::filesystem::path& folder, const Output& output) {
  const auto source = pictures(folder, 512);
  auto pipeline =
      Pipeline::from(source).order(passes(*source)).then(decode_224()).batch({.size = 64});
  const std::vector<Contender> contenders = {{"bare threads (limit)", bare_pictures(source, 64)},
                                             {"headrace", through_loader(std::move(pipeline))}};
  output.report.add("JPEG 500x375, random-resized crop to 224, flip, uint8 batch of 64", "images/s",
                    compare(contenders, output.repeats), "bare threads (limit)");
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

void slow_sample(Report& report) {
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
  report.add(
      {{.section = "one sample in 512 a hundred times slower, a consumer at 85 % of capacity",
        .contender = "headrace",
        .unit = "share",
        .median = waited / total,
        .low = waited / total,
        .high = waited / total,
        .repeats = 1,
        .note =
            "waiting for data; capacity " + std::to_string(std::lround(capacity)) + " samples/s"}});
}

void idle(const std::filesystem::path& folder, Report& report) {
  Loader loader =
      rows_of(table(folder, 200'000, 128), 8192).build({.runtime = Runtime({.threads = threads})});
  for (Batch& batch : loader.epoch(0))
    (void)batch;
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const double cpu = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::seconds(3));
  const double cores = (cpu_seconds() - cpu) / 3.0;
  report.add({{.section = "an idle loader",
               .contender = "headrace",
               .unit = "cores",
               .median = cores,
               .low = cores,
               .high = cores,
               .repeats = 1}});
}

void statistics(const std::filesystem::path& folder, const Output& output) {
  const auto source = table(folder, 1'000'000, 640);
  LoaderOptions off;
  off.statistics = false;
  const std::vector<Contender> contenders = {
      {"without statistics", through_loader(rows_of(source, 8192), off)},
      {"with statistics", through_loader(rows_of(source, 8192))}};
  output.report.add("cost of statistics, rows of 640 bytes", "rows/s",
                    compare(contenders, output.repeats), "without statistics");
}

}  // namespace

int main(int argc, char** argv) {
  Options options("loader_benchmark",
                  "a pipeline beside bare threads that do the same work, and LibTorch's loader");
  options
      .add("only", "all",
           "rows128, rows640, pictures, slow, idle, statistics (all of these), or scaling")
      .add("repeats", "9", "rounds in turn, after one that is not counted")
      .add("folder", (std::filesystem::temp_directory_path() / "headrace-bench").string(),
           "where data is made once")
      .add("threads", "1,2,4,8,16", "scaling: thread counts")
      .add("scale", "all", "scaling: pictures, rows or chunks")
      .add("files", "512", "scaling: JPEG files")
      .add("rows", "1000000", "scaling: rows; a quarter of them in chunks")
      .add_json()
      .take_words({"only", "repeats", "folder"});
  options.parse(argc, argv);
  const std::filesystem::path folder = options.text("folder");
  const auto asked = [&](const char* name) { return options.asks_for("only", name); };
  Report report("loader_benchmark", options);
  const Output output{report, options.number("repeats")};
  if (options.text("only") == "scaling") {
    measure_scaling(folder, options, report);
    return 0;
  }
  std::printf("%d threads, ring of %d slabs, medians of %d rounds in turn\n", threads, ring,
              output.repeats);
  if (asked("rows128")) compare_rows(folder, 128, 2'000'000, output);
  if (asked("rows640")) compare_rows(folder, 640, 1'000'000, output);
  if (asked("pictures")) compare_pictures(folder, output);
  if (asked("slow")) slow_sample(report);
  if (asked("idle")) idle(folder, report);
  if (asked("statistics")) statistics(folder, output);
}
