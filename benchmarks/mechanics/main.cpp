// What precision, memory layout, trials of cuDNN and checkpointed blocks make of training steps, on
// a batch that lies on the device; all in one run, beside PyTorch's.
#include <headrace/apps/backend/choose_device_torch.h>
#include <headrace/benchmarks/mechanics/sections.h>
#include <headrace/benchmarks/mechanics/serve.h>
#include <headrace/engine/base/error.h>

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace headrace;
using namespace headrace::bench;

namespace {

struct Section {
  const char* name;
  const char* title;
  void (*measure)(const Bench&);
};

constexpr Section sections[] = {{"arithmetic", "steps", measure_arithmetic},
                                {"checkpointing", "checkpointed blocks", measure_checkpointing}};

constexpr int no_device = 7;

WorkloadOptions workload_options(const Options& options) {
  const bool dry = options.is_set("dry");
  const bool is_leak = options.text("network") == "leak_cnn";
  WorkloadOptions asked{
      .network = options.text("network"),
      .batch = is_leak ? 8192 : 64,
      .device = app::torch_device(
          app::choose_device(dry ? app::DeviceChoice::cpu : app::DeviceChoice::cuda).device)};
  if (options.is_set("batch")) asked.batch = options.number("batch");
  if (!dry) return asked;
  asked.batch = 4;
  asked.side = 64;
  asked.width = 0.125;
  return asked;
}

/// Another process with the same workload: `command` and what says which it is.
void open(std::optional<Peer>& peer, std::vector<std::string> command,
          const WorkloadOptions& workload) {
  command.insert(command.end(),
                 {"--network", workload.network, "--batch", std::to_string(workload.batch)});
  if (workload.device.is_cpu()) command.emplace_back("--dry");
  peer.emplace(std::move(command));
}

/// PyTorch's side, where there is one and its network is ours.
MaybePeer torch_side(std::optional<Peer>& peer, const Options& options,
                     const WorkloadOptions& asked, const Workload& workload) {
  if (!options.is_set("python"))
    return {.missing = "no Python with torch was named; see --python and --script"};
  try {
    open(peer, {options.text("python"), options.text("script")}, asked);
    const std::string theirs = peer->ask(parameters_request);
    const std::string ours = std::to_string(models::parameter_count(*workload.course->network()));
    if (theirs != ours)
      return {.missing = "its network has " + theirs + " parameters, ours " + ours};
  } catch (const ResourceError& error) {
    return {.missing = error.what()};
  }
  return {.peer = &*peer};
}

/// A section that fails does not take the other with it.
int measure(const Options& options, const Bench& bench) {
  int status = 0;
  for (const Section& section : sections) {
    if (!options.asks_for("only", section.name)) continue;
    try {
      section.measure(bench);
    } catch (const std::exception& error) {
      const std::string what = error.what();
      bench.report.missing(bench.workload.title + ": " + section.title, "headrace",
                           what.substr(0, what.find('\n')));
      status = no_device;
    }
  }
  return status;
}

int run(const Options& options) {
  Report report("mechanics_benchmark", options);
  std::optional<WorkloadOptions> asked;
  try {
    asked = workload_options(options);
  } catch (const DeviceError& error) {
    for (const Section& section : sections)
      if (options.asks_for("only", section.name))
        report.missing(options.text("network") + ": " + section.title, "headrace", error.what());
    return no_device;
  }
  const bool dry = options.is_set("dry");
  if (dry) {
    report.mark_dry();
    std::printf("dry: small steps on the CPU; no figure says anything of a device\n");
  }
  const Workload workload = make_workload(*asked);
  std::optional<Peer> tried, torch;
  open(tried, {"/proc/self/exe", "--serve"}, *asked);
  return measure(options, {.workload = workload,
                           .report = report,
                           .steps = dry ? 1 : options.number("steps"),
                           .repeats = dry ? 1 : options.number("repeats"),
                           .tried = {.peer = &*tried},
                           .torch = torch_side(torch, options, *asked, workload)});
}

}  // namespace

int main(int argc, char** argv) {
  Options options("mechanics_benchmark",
                  "training steps by precision, layout, cuDNN's trials and checkpointed blocks");
  options.add("network", "resnet50", "resnet50 or leak_cnn")
      .add("only", "all", "arithmetic, checkpointing or all")
      .add("batch", "", "samples a step; none: 64, of leak_cnn 8192")
      .add("steps", "20", "of a rate")
      .add("repeats", "5", "rounds in turn, after one that is not counted")
      .add("python", "", "a Python that has torch, for PyTorch's side; none: no such contender")
      .add("script", "", "benchmarks/twins/steps.py")
      .add_flag("dry", "small steps on the CPU, to see that it runs; a figure says nothing")
      .add_flag("serve", "answer the lines of another such program, and end with them")
      .add_json();
  options.parse(argc, argv);
  try {
    if (!options.is_set("serve")) return run(options);
    serve(make_workload(workload_options(options)));
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
