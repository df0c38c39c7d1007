// What counters and a trace cost a loader whose stages cost next to nothing, and one whose samples
// take as long as a small picture.
#include <headrace/benchmarks/harness/report.h>
#include <headrace/engine/headrace.h>
#include <headrace/engine/runtime/tracing.h>
#include <headrace/loaders/memory/table.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace headrace;
using namespace headrace::bench;

namespace {

struct Work {
  std::int64_t rows = 0;
  int stages = 0;
  std::chrono::microseconds busy{};  // of the first stage, for a sample
  std::int64_t batch = 0;
};

void keep_busy(std::chrono::microseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < until) {
  }
}

Pipeline pipeline_of(const std::shared_ptr<const Source>& source, const Work& work) {
  Pipeline pipeline = Pipeline::from(source).order(Shuffled{.seed = 1});
  for (int i = 0; i < work.stages; ++i)
    pipeline = std::move(pipeline).then([busy = i == 0 ? work.busy : work.busy * 0](Sample&) {
      if (busy.count() > 0) keep_busy(busy);
    });
  return std::move(pipeline).batch({.size = work.batch});
}

enum class Seen { uncounted, counted, traced };

std::function<double()> epochs(const std::shared_ptr<const Source>& source, const Work& work,
                               Seen seen) {
  const Runtime runtime({.threads = 2});
  const auto loader = std::make_shared<Loader>(
      pipeline_of(source, work).build({.statistics = seen != Seen::uncounted, .runtime = runtime}));
  const auto tracing = seen == Seen::traced ? std::make_shared<Tracing>(runtime) : nullptr;
  const auto epoch = std::make_shared<std::int64_t>(0);
  return [loader, tracing, epoch] {
    double samples = 0;
    for (Batch& batch : loader->epoch((*epoch)++))
      samples += static_cast<double>(batch.size());
    return samples;
  };
}

}  // namespace

int main(int argc, char** argv) {
  Options options("trace_benchmark", "What do counters and a trace cost a loader?");
  options.add("repeats", "9", "rounds in turn").add_json().take_words({"repeats"});
  options.parse(argc, argv);
  Report report("trace_benchmark", options);
  const std::vector<std::pair<std::string, Work>> works{
      {"five empty stages", {.rows = 400'000, .stages = 5, .batch = 1024}},
      {"five stages, 20 us a sample",
       {.rows = 40'000, .stages = 5, .busy = std::chrono::microseconds(20), .batch = 64}},
      {"five stages, 1 ms a sample",
       {.rows = 1'000, .stages = 5, .busy = std::chrono::microseconds(1000), .batch = 64}}};
  for (const auto& [name, work] : works) {
    const auto source = std::make_shared<const Table>(
        std::vector<TableColumn>{{"x", Tensor::zeros(DType::uint8, Shape{work.rows, 16})}});
    const auto rates = compare({{"counted", epochs(source, work, Seen::counted)},
                                {"not counted", epochs(source, work, Seen::uncounted)},
                                {"traced", epochs(source, work, Seen::traced)}},
                               options.number("repeats"));
    report.add(name, "samples/s", rates, rates.front().name);
    std::printf("CPU of a sample, of the counted one: not counted %.3f, traced %.3f\n",
                rates[1].cpu / rates[0].cpu, rates[2].cpu / rates[0].cpu);
  }
}
