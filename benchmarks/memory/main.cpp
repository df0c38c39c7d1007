// What a run pays for being watched while its memory is far from its limit.
#include <headrace/apps/run/count_heap.h>
#include <headrace/apps/run/memory_guard.h>
#include <headrace/benchmarks/harness/report.h>
#include <headrace/engine/headrace.h>
#include <headrace/loaders/memory/table.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

extern "C" {
void* __libc_malloc(std::size_t) noexcept;
void __libc_free(void*) noexcept;
}

using namespace headrace;
using namespace headrace::bench;

namespace {

constexpr std::int64_t rows = 200'000;

void* volatile sink = nullptr;

// Pairs of taking and giving back.
template <class Take, class Give>
std::function<double()> pairs(const Take& take, const Give& give) {
  return [take, give] {
    constexpr int count = 2'000'000;
    for (int i = 0; i < count; ++i) {
      sink = take(static_cast<std::size_t>(64 + i % 512));
      give(sink);
    }
    return static_cast<double>(count);
  };
}

// A step that takes memory of its own for each sample.
struct Copies {
  std::string name() const { return "copies"; }
  void operator()(Sample& sample) const {
    const auto values = sample["x"].values<std::uint8_t>();
    std::vector<std::uint8_t> copy(values.begin(), values.end());
    sink = copy.data();
  }
};

struct Watched {
  bool metered = false;
  bool guarded = false;
};

std::function<double()> epochs(const std::shared_ptr<const Source>& source, const Watched& how) {
  struct Run {
    explicit Run(Loader made) : loader(std::move(made)) {}
    Loader loader;
    std::optional<app::StopSignals> signals{};  // a program has but one
    std::optional<app::MemoryGuard> guard{};
    std::int64_t epoch = 0;
  };
  const Runtime runtime({.threads = 2, .heap_meter = how.metered ? app::heap_meter() : nullptr});
  const auto run = std::make_shared<Run>(Pipeline::from(source)
                                             .order(Shuffled{.seed = 1})
                                             .then(Copies{})
                                             .batch({.size = 1024})
                                             .build({.runtime = runtime}));
  if (how.guarded) {
    run->signals.emplace();
    run->guard.emplace(monitor::tightest_memory_limit({}), *run->signals,
                       [](const std::string&) {});
  }
  return [run] {
    double seen = 0;
    for (Batch& batch : run->loader.epoch(run->epoch++))
      seen += static_cast<double>(batch.size());
    return seen;
  };
}

}  // namespace

int main(int argc, char** argv) {
  Options options("memory_benchmark", "What does it cost to be watched far below the limit?");
  options.add("repeats", "9", "rounds in turn").add_json().take_words({"repeats"});
  options.parse(argc, argv);
  Report report("memory_benchmark", options);
  const int repeats = options.number("repeats");
  const auto heap = compare({{"the C library's", pairs(&__libc_malloc, &__libc_free)},
                             {"counted", pairs(&malloc, &free)}},
                            repeats);
  report.add("memory of 64 to 575 bytes, taken and given back", "pairs/s", heap, heap[0].name);
  const auto source = std::make_shared<const Table>(
      std::vector<TableColumn>{{"x", Tensor::zeros(DType::uint8, Shape{rows, 512})}});
  const auto loaders =
      compare({{"a loader", epochs(source, {})},
               {"who keeps what is counted", epochs(source, {.metered = true})},
               {"and a guard looks", epochs(source, {.metered = true, .guarded = true})}},
              repeats);
  report.add("a step that takes 512 bytes a sample", "samples/s", loaders, loaders[0].name,
             {std::nullopt, at_least(0.97), at_least(0.97)});
}
