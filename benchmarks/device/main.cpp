// What the device makes of our copies and kernels, beside bare copies in the same run.
#include <headrace/benchmarks/device/sections.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/runtime/runtime.h>

#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

using namespace headrace;
using namespace headrace::bench;

namespace {

struct Section {
  const char* name;
  const char* title;
  void (*measure)(const Bench&);
};

constexpr Section sections[] = {{"ceilings", "bare copies", measure_ceilings},
                                {"transfer", "transfer", measure_transfer},
                                {"normalize", "normalize", measure_normalize},
                                {"spec", "SpecAugment", measure_spec_augment},
                                {"gather", "gather and device table", measure_gather},
                                {"volume", "volume patches", measure_volume}};

constexpr int no_device = 7;

/// A section that fails does not take the others with it.
int measure(const Options& options, const Bench& bench) {
  int status = 0;
  for (const Section& section : sections) {
    if (!options.asks_for("only", section.name)) continue;
    try {
      section.measure(bench);
    } catch (const Error& error) {
      bench.report.missing(section.title, "headrace", error.what());
      status = no_device;
    }
  }
  return status;
}

Extent extent_of(const Options& options, bool dry) {
  Extent extent{
      .sizes = {}, .repeats = options.number("repeats"), .threads = options.number("threads")};
  const std::vector<double> sizes = options.list("sizes");
  extent.sizes.reserve(sizes.size());
  for (const double megabytes : sizes)
    extent.sizes.push_back(static_cast<std::size_t>(megabytes * 1e6));
  if (dry) extent.traffic = 0;
  return extent;
}

}  // namespace

int main(int argc, char** argv) {
  Options options("device_benchmark",
                  "copies and kernels of ours beside bare copies, on a GPU in this run");
  options.add("only", "all", "ceilings, transfer, normalize, spec, gather, volume or all")
      .add("sizes", "29,500", "MB of a batch; goals are for the largest")
      .add("repeats", "7", "rounds in turn, after one that is not counted")
      .add("threads", std::to_string(usable_cores()), "workers of the loaders")
      .add("gpu", "0", "number of the device")
      .add_flag("dry",
                "the same through the host's twins, to see that it runs; a figure says nothing")
      .add_json()
      .take_words({"only"});
  options.parse(argc, argv);
  Report report("device_benchmark", options);
  const bool dry = options.is_set("dry");
  const Extent extent = extent_of(options, dry);
  std::optional<Side> side;
  try {
    if (dry) {
      side.emplace();
      report.mark_dry();
      std::printf("dry: host twins on one thread; no figure says anything of a device\n");
    } else {
      const Device device = Device::cuda(options.number("gpu"));
      detail::require_device(device, "device_benchmark");
      side.emplace(device, cuda_calls(device));
    }
  } catch (const Error& error) {
    for (const Section& section : sections) {
      if (options.asks_for("only", section.name))
        report.missing(section.title, "headrace", error.what());
    }
    return no_device;
  }
  return measure(options, {*side, extent, report});
}
