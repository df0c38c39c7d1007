// A training step of ResNet-50 size behind our image loader and behind LibTorch's own.
#include <torch/utils.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include <headrace/benchmarks/harness/harness.h>
#include <headrace/benchmarks/harness/options.h>
#include <headrace/benchmarks/loader/workload.h>
#include <headrace/benchmarks/step/gpu_busy.h>
#include <headrace/benchmarks/step/step.h>

using namespace headrace;
using namespace headrace::bench;

namespace {

/// The rounds of one feeder behind one step.
struct Rounds {
  std::vector<Budget> budgets;
  std::vector<double> busy;
  std::string why_no_busy;
};

double data_share(const Budget& budget) {
  return budget.data_wait_s / budget.wall_s;
}

void print_header() {
  std::printf("%-12s %10s %9s %8s %8s %9s %8s %22s %10s\n", "", "images/s", "step ms", "data",
              "copy", "compute", "other", "data share (spread)", "GPU busy");
}

void print_row(const std::string& name, Rounds rounds, std::int64_t batch, bool on_gpu) {
  std::ranges::sort(rounds.budgets, {}, data_share);
  const Budget& middle = rounds.budgets[rounds.budgets.size() / 2];
  const double other = middle.wall_s - middle.data_wait_s - middle.copy_s - middle.compute_s;
  const std::string copy = on_gpu ? std::to_string(1e3 * middle.copy_s).substr(0, 6) : "none";
  const std::string busy = rounds.busy.empty()
                               ? "unmeasured"
                               : std::to_string(100 * median(rounds.busy)).substr(0, 4) + " %";
  std::printf("%-12s %10.0f %9.2f %8.3f %8s %9.2f %8.3f %7.2f %% (%5.2f-%5.2f) %10s\n",
              name.c_str(), static_cast<double>(batch) / middle.wall_s, 1e3 * middle.wall_s,
              1e3 * middle.data_wait_s, copy.c_str(), 1e3 * middle.compute_s, 1e3 * other,
              100 * data_share(middle), 100 * data_share(rounds.budgets.front()),
              100 * data_share(rounds.budgets.back()), busy.c_str());
  std::fflush(stdout);
}

struct Setting {
  FeedOptions feed;
  int warm = 0;
  int repeats = 0;
  bool on_gpu = false;
};

/// All feeders in turn, round by round, behind the same step.
void compare_feeds(const Setting& setting, const std::function<Budget(const Feed&)>& run) {
  const std::vector<Feeder> feeders = {{"headrace", headrace_feed},
                                       {"torch::data", torch_data_feed}};
  std::vector<Rounds> all(feeders.size());
  for (int round = 0; round < setting.repeats; ++round) {
    for (std::size_t i = 0; i < feeders.size(); ++i) {
      std::optional<GpuBusy> busy;
      if (setting.on_gpu) busy.emplace(setting.feed.device.index);
      all[i].budgets.push_back(run(feeders[i].open(setting.feed)));
      if (!busy) continue;
      if (const auto share = busy->stop()) all[i].busy.push_back(*share);
      all[i].why_no_busy = busy->why();
    }
  }
  print_header();
  for (std::size_t i = 0; i < feeders.size(); ++i)
    print_row(feeders[i].name, all[i], setting.feed.batch, setting.on_gpu);
  if (!setting.on_gpu) std::printf("copy: none, GPU busy: unmeasured (no GPU is used)\n");
  if (setting.on_gpu && !all[0].why_no_busy.empty())
    std::printf("GPU busy: unmeasured (%s)\n", all[0].why_no_busy.c_str());
}

/// Images a second that the decoder reaches in bare threads: what paces are shares of.
double decoder_limit(const std::shared_ptr<const ImageFolder>& source, std::int64_t batch) {
  return compare({{"bare threads", bare_pictures(source, batch)}}, 3)[0].median;
}

void paced(Setting setting, const std::vector<double>& shares) {
  const double limit = decoder_limit(setting.feed.source, setting.feed.batch);
  std::printf("the decoder in %d bare threads: %.0f images/s\n", setting.feed.threads, limit);
  for (const double share : shares) {
    const double pace = share * limit;
    const double step = static_cast<double>(setting.feed.batch) / pace;
    std::printf("\na step of %.2f ms: asks for %.0f images/s, %.0f %% of the decoder\n", 1e3 * step,
                pace, 100 * share);
    compare_feeds(setting, [&](const Feed& feed) { return paced_run(feed, step, setting.warm); });
  }
}

void trained(const Setting& setting) {
  const c10::Device device(
      setting.on_gpu ? c10::DeviceType::CUDA : c10::DeviceType::CPU,
      static_cast<c10::DeviceIndex>(setting.on_gpu ? setting.feed.device.index : -1));
  Trainer trainer(device);
  std::printf("\nResNet-50, SGD with momentum, batch of %d, on %s\n",
              static_cast<int>(setting.feed.batch), device.str().c_str());
  compare_feeds(setting, [&](const Feed& feed) { return trainer.run(feed, setting.warm); });
  std::printf("last loss %.4f\n", trainer.loss());
}

}  // namespace

int main(int argc, char** argv) {
  Options options("step_benchmark",
                  "a training step of ResNet-50 size behind our image loader and torch::data");
  options.add("consumer", "auto", "resnet50, paced (uses no CPU), or auto: resnet50 on a GPU")
      .add("device", "auto", "cuda, cpu, or auto")
      .add("load", "0.5,0.8,0.95", "paced: what it asks for, as shares of the bare decoder's rate")
      .add("batch", "64", "images a step")
      .add("steps", "100", "steps of a run")
      .add("warm", "20", "steps before them that do not count")
      .add("repeats", "3", "rounds in turn")
      .add("threads", "2", "workers of both loaders")
      .add("folder", (std::filesystem::temp_directory_path() / "headrace-bench").string(),
           "where pictures are made once");
  options.parse(argc, argv);
  const std::string no_gpu = options.text("device") == "cpu" ? "cpu was asked for" : open_gpu();
  if (!no_gpu.empty() && options.text("device") == "cuda") {
    std::fprintf(stderr, "step_benchmark: cuda was asked for: %s\n", no_gpu.c_str());
    return 7;
  }
  Setting setting{.feed = {.source = pictures(options.text("folder"), 512),
                           .batch = options.number("batch"),
                           .batches = options.number("steps") + options.number("warm"),
                           .threads = options.number("threads"),
                           .device = no_gpu.empty() ? Device::cuda(0) : Device::cpu()},
                  .warm = options.number("warm"),
                  .repeats = options.number("repeats"),
                  .on_gpu = no_gpu.empty()};
  std::printf(
      "%s\n%s; JPEG 500x375, random-resized crop to 224, flip, uint8; %d workers, medians of %d "
      "rounds in turn of %d steps\n",
      machine_line().c_str(), no_gpu.empty() ? "GPU: cuda:0" : ("no GPU: " + no_gpu).c_str(),
      setting.feed.threads, setting.repeats, options.number("steps"));
  const std::string consumer = options.text("consumer");
  if (consumer == "resnet50" || (consumer == "auto" && setting.on_gpu)) {
    trained(setting);
  } else {
    setting.on_gpu = false;
    setting.feed.device = Device::cpu();
    paced(setting, options.list("load"));
  }
}
