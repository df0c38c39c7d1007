// What watching costs: CPU time of the watch's own thread, and what a loader beside it loses.
#include <headrace/benchmarks/harness/report.h>
#include <headrace/engine/headrace.h>
#include <headrace/loaders/memory/table.h>
#include <headrace/monitor/system/cpu_usage.h>
#include <headrace/monitor/system/system_watch.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using namespace headrace;
using namespace headrace::bench;
using monitor::SystemSample;
using monitor::SystemWatch;

namespace {

constexpr std::int64_t rows = 400'000;
constexpr double most_of_a_core = 0.005;

// Processes that sleep until this object ends, and are not of our tree: who made them is gone.
class Sleepers {
 public:
  explicit Sleepers(int count) {
    if (count == 0 || pipe(ends_.data()) != 0) return;
    const pid_t parent = fork();
    if (parent == 0) {
      close(ends_[1]);
      for (int i = 0; i < count; ++i)
        if (fork() == 0) sleep();
      _exit(0);
    }
    waitpid(parent, nullptr, 0);
  }
  ~Sleepers() {
    for (const int end : ends_)
      if (end >= 0) close(end);
  }
  Sleepers(const Sleepers&) = delete;
  Sleepers& operator=(const Sleepers&) = delete;

 private:
  // Until nobody can write to the pipe any more.
  [[noreturn]] void sleep() const {
    char byte = 0;
    while (read(ends_[0], &byte, 1) > 0) {
    }
    _exit(0);
  }

  std::array<int, 2> ends_{-1, -1};
};

// Share of a core that the watch's thread took, from its first sample on; a watch's beginning is
// said apart.
Row thread_cost(double period_s, double seconds) {
  std::atomic<int> samples = 0;
  std::atomic<int> looks = 0;
  SystemWatch watch(
      {.period = std::chrono::milliseconds(static_cast<std::int64_t>(period_s * 1000.0)),
       .on_sample = [&](const SystemSample& sample) {
         ++samples;
         if (!sample.busiest.empty()) ++looks;
       }});
  while (samples == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const double begin_s = watch.cpu_seconds();
  const double start = bench::seconds();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const double share = (watch.cpu_seconds() - begin_s) / (bench::seconds() - start);
  char name[96];
  std::snprintf(name, sizeof name, "period %.1f s, %zu processes", period_s,
                monitor::read_process_ticks().size());
  Row row = figure("own thread", name, "share", {share});
  row.goal = share_below(most_of_a_core);
  char note[96];
  std::snprintf(note, sizeof note, "%d samples, %d with all processes; beginning %.1f ms",
                samples.load(), looks.load(), begin_s * 1e3);
  row.note = note;
  return row;
}

std::function<double()> epochs(const std::shared_ptr<const Source>& source, int count) {
  auto loader = std::make_shared<Loader>(Pipeline::from(source)
                                             .order(Shuffled{.seed = 1})
                                             .then([](Sample&) {})
                                             .batch({.size = 4096})
                                             .build({.runtime = Runtime({.threads = 2})}));
  auto epoch = std::make_shared<std::int64_t>(0);
  return [loader, epoch, count] {
    double seen = 0.0;
    for (int i = 0; i < count; ++i)
      for (Batch& batch : loader->epoch((*epoch)++))
        seen += static_cast<double>(batch.size());
    return seen;
  };
}

void beside_a_loader(Report& report, int rounds, int epochs_a_round) {
  const auto source = std::make_shared<const Table>(
      std::vector<TableColumn>{{"x", Tensor::zeros(DType::uint8, Shape{rows, 16})}});
  auto watch = std::make_shared<std::optional<SystemWatch>>();
  const std::function<double()> work = epochs(source, epochs_a_round);
  const std::vector<Contender> contenders{
      {"unwatched", work, [watch] { watch->reset(); }},
      {"watched, period 1 s", work, [watch] { watch->emplace(); }}};
  report.add("a loader beside it", "samples/s", compare(contenders, rounds), "unwatched",
             {std::nullopt, at_least(0.99)});
}

}  // namespace

int main(int argc, char** argv) {
  Options options("monitor_benchmark", "What does watching a training cost?");
  options.add("seconds", "60", "of each watch")
      .add("sleepers", "300", "processes that sleep beside it in the second part")
      .add("repeats", "7", "rounds in turn")
      .add("epochs", "40", "of the loader, a round")
      .add_json();
  options.parse(argc, argv);
  Report report("monitor_benchmark", options);
  const double seconds = options.real("seconds");
  std::vector<Row> costs;
  for (const int count : {0, options.number("sleepers")}) {
    const Sleepers sleepers(count);
    for (const double period_s : {1.0, 0.5})
      costs.push_back(thread_cost(period_s, seconds));
  }
  report.add(costs);
  beside_a_loader(report, options.number("repeats"), options.number("epochs"));
}
