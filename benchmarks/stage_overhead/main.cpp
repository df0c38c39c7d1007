// What an empty stage costs: each sample, and each block.
#include <headrace/benchmarks/harness/report.h>
#include <headrace/engine/headrace.h>
#include <headrace/loaders/memory/table.h>

#include <cstdio>
#include <string>

using namespace headrace;
using namespace headrace::bench;

namespace {

constexpr std::int64_t rows = 400'000;

std::function<double()> with_stages(const std::shared_ptr<const Source>& source, int stages,
                                    bool fuse, std::int64_t batch) {
  Pipeline pipeline = Pipeline::from(source).order(Shuffled{.seed = 1});
  for (int i = 0; i < stages; ++i)
    pipeline = std::move(pipeline).then([](Sample&) {});
  auto loader =
      std::make_shared<Loader>(std::move(pipeline)
                                   .batch({.size = batch})
                                   .build({.fuse = fuse, .runtime = Runtime({.threads = 2})}));
  auto epoch = std::make_shared<std::int64_t>(0);
  return [loader, epoch] {
    double seen = 0;
    for (Batch& b : loader->epoch((*epoch)++))
      seen += static_cast<double>(b.size());
    return seen;
  };
}

}  // namespace

int main(int argc, char** argv) {
  Options options("stage_overhead_benchmark", "What does an empty stage cost?");
  options.add("repeats", "7", "rounds in turn").add_json().take_words({"repeats"});
  options.parse(argc, argv);
  Report report("stage_overhead_benchmark", options);
  const auto source = std::make_shared<const Table>(
      std::vector<TableColumn>{{"x", Tensor::zeros(DType::uint8, Shape{rows, 16})}});
  std::vector<Contender> contenders;
  for (const int stages : {1, 5, 9}) {
    contenders.push_back(
        {std::to_string(stages) + " empty stages, fused", with_stages(source, stages, true, 4096)});
  }
  for (const int stages : {1, 5}) {
    contenders.push_back({std::to_string(stages) + " empty stages, a node each",
                          with_stages(source, stages, false, 4096)});
  }
  contenders.push_back(
      {"1 empty stage, batch 1: a block a sample", with_stages(source, 1, true, 1)});
  const auto rates = compare(contenders, options.number("repeats"));
  report.add("an empty stage", "samples/s", rates, rates[0].name);
  const double fused = (1 / rates[2].median - 1 / rates[0].median) / 8 * 2e9;
  const double apart = (1 / rates[4].median - 1 / rates[3].median) / 4 * 2e9;
  const double block = (1 / rates[5].median - 1 / rates[0].median) * 2e9;
  std::printf(
      "\nCPU cost of an empty stage: fused %.1f ns a sample, as a node of its own %.1f ns a "
      "sample; a block with its batch %.0f ns\n",
      fused, apart, block);
}
