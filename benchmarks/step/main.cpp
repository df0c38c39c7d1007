// A training step of ResNet-50 size behind our image loader and behind LibTorch's own.
#include <headrace/benchmarks/harness/gpu_busy.h>
#include <headrace/benchmarks/harness/report.h>
#include <headrace/benchmarks/loader/workload.h>
#include <headrace/benchmarks/step/step.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include <torch/utils.h>

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
double copy_share(const Budget& budget) {
  return budget.copy_s / budget.wall_s;
}

std::vector<double> each(const std::vector<Budget>& budgets,
                         const std::function<double(const Budget&)>& of) {
  std::vector<double> values;
  values.reserve(budgets.size());
  for (const Budget& budget : budgets)
    values.push_back(of(budget));
  return values;
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
  Report& report;
  std::vector<Feeder> loaders;
  FeedOptions feed;
  int warm = 0;
  int repeats = 0;
  bool on_gpu = false;
};

/// The loaders that were asked for.
std::vector<Feeder> loaders_of(const Options& options) {
  std::vector<Feeder> feeders = {{"headrace", headrace_feed}, {"torch::data", torch_data_feed}};
  std::erase_if(feeders, [&](const Feeder& f) { return !options.asks_for("feeds", f.name); });
  return feeders;
}

/// What goes to the report: samples a second, then shares of the step, each with its goal for us.
void add_figures(const Setting& setting, const std::string& title,
                 const std::vector<Feeder>& feeders, const std::vector<Rounds>& all) {
  std::vector<Row> rates;
  std::vector<Row> data;
  std::vector<Row> copies;
  std::vector<Row> busy;
  for (auto* rows : {&rates, &data, &copies, &busy})
    rows->reserve(feeders.size());
  for (std::size_t i = 0; i < feeders.size(); ++i) {
    const std::string& name = feeders[i].name;
    const auto batch = static_cast<double>(setting.feed.batch);
    const auto& budgets = all[i].budgets;
    const std::optional<Goal> goal = i == 0 ? std::optional(share_below(0.01)) : std::nullopt;
    rates.push_back(figure(title, name, "images/s",
                           each(budgets, [=](const Budget& b) { return batch / b.wall_s; })));
    data.push_back(figure(title + ": data wait", name, "share", each(budgets, data_share)));
    data.back().goal = goal;
    Row missing{
        .section = title + ": exposed copy", .contender = name, .missing = "no GPU is used"};
    copies.push_back(setting.on_gpu
                         ? figure(missing.section, name, "share", each(budgets, copy_share))
                         : missing);
    copies.back().goal = goal;
    missing.section = title + ": GPU busy";
    if (setting.on_gpu) missing.missing = all[i].why_no_busy;
    busy.push_back(all[i].busy.empty() ? missing
                                       : figure(missing.section, name, "share", all[i].busy));
  }
  for (const auto& section : {rates, data, copies, busy})
    setting.report.add(section);
}

/// All feeders in turn, round by round, behind the same step.
void compare_feeds(const Setting& setting, const std::vector<Feeder>& feeders,
                   const std::string& title, const std::function<Budget(const Feed&)>& run) {
  std::vector<Rounds> all(feeders.size());
  for (int round = 0; round < setting.repeats; ++round) {
    for (std::size_t i = 0; i < feeders.size(); ++i) {
      std::optional<GpuBusy> busy;
      const Feed feed = feeders[i].open(setting.feed);
      all[i].budgets.push_back(run([&, left = std::max(1, setting.warm)](Pictures& into) mutable {
        // With the last step that does not count: what is before it is no training.
        if (--left == 0 && setting.on_gpu) busy.emplace(setting.feed.device.index);
        return feed(into);
      }));
      if (!busy) continue;
      if (const auto share = busy->stop()) all[i].busy.push_back(*share);
      all[i].why_no_busy = busy->why();
    }
  }
  print_header();
  for (std::size_t i = 0; i < feeders.size(); ++i)
    print_row(feeders[i].name, all[i], setting.feed.batch, setting.on_gpu);
  add_figures(setting, title, feeders, all);
}

/// Images a second that the decoder reaches in bare threads: what paces are shares of.
Rates decoder_limit(const FeedOptions& feed) {
  return compare({{"the decoder in bare threads, no step",
                   bare_pictures(feed.source, feed.batch, feed.threads)}},
                 3)[0];
}

std::string percent(double share) {
  return std::to_string(static_cast<int>(100 * share + 0.5)) + " %";
}

void paced(Setting setting, const std::vector<double>& shares) {
  const double limit = decoder_limit(setting.feed).median;
  std::printf("the decoder in %d bare threads: %.0f images/s\n", setting.feed.threads, limit);
  for (const double share : shares) {
    const double pace = share * limit;
    const double step = static_cast<double>(setting.feed.batch) / pace;
    std::printf("\na step of %.2f ms: asks for %.0f images/s, %.0f %% of the decoder\n", 1e3 * step,
                pace, 100 * share);
    compare_feeds(setting, setting.loaders,
                  "a trainer that asks for " + percent(share) + " of the decoder",
                  [&](const Feed& feed) { return paced_run(feed, step, setting.warm); });
  }
}

void trained(const Setting& setting) {
  const c10::Device device(
      setting.on_gpu ? c10::DeviceType::CUDA : c10::DeviceType::CPU,
      static_cast<c10::DeviceIndex>(setting.on_gpu ? setting.feed.device.index : -1));
  Trainer trainer(device);
  const std::string title = "ResNet-50, SGD with momentum, batch of " +
                            std::to_string(setting.feed.batch) + ", on " + device.str() + ", " +
                            std::to_string(setting.feed.threads) + " workers";
  std::printf("\n%s\n", title.c_str());
  const bool with_limits = setting.loaders.size() > 1;
  std::vector<Feeder> feeders = setting.loaders;
  if (with_limits) feeders.push_back({"the step alone, one batch again and again", one_batch_feed});
  compare_feeds(setting, feeders, title,
                [&](const Feed& feed) { return trainer.run(feed, setting.warm); });
  if (with_limits)
    setting.report.add(title + ": what could be decoded", "images/s", {decoder_limit(setting.feed)},
                       "");
  std::printf("last loss %.4f\n", trainer.loss());
}

}  // namespace

int main(int argc, char** argv) {
  Options options("step_benchmark",
                  "a training step of ResNet-50 size behind our image loader and torch::data");
  options.add("consumer", "auto", "resnet50, paced (uses no CPU), or auto: resnet50 on a GPU")
      .add("device", "auto", "cuda, cpu, or auto")
      .add("load", "0.5,0.8,0.95", "paced: what it asks for, as shares of the bare decoder's rate")
      .add("feeds", "all", "headrace or torch::data alone, or all with what limits them")
      .add("batch", "64", "images a step")
      .add("steps", "100", "steps of a run")
      .add("warm", "20", "steps before them that do not count")
      .add("repeats", "3", "rounds in turn")
      .add("threads", "2", "workers of both loaders")
      .add("data", "", "folder of classes of JPEG files; none: 512 made ones of 500 x 375")
      .add("folder", (std::filesystem::temp_directory_path() / "headrace-bench").string(),
           "where pictures are made once")
      .add_flag("layers", "print the network's parameters and their shapes, and end")
      .add_json();
  options.parse(argc, argv);
  if (options.is_set("layers")) {
    Trainer::print_layers();
    return 0;
  }
  const std::string no_gpu = options.text("device") == "cpu" ? "cpu was asked for" : open_gpu();
  Report report("step_benchmark", options);
  if (!no_gpu.empty() && options.text("device") == "cuda") {
    report.missing("a training step of ResNet-50 size", "headrace", no_gpu);
    std::fprintf(stderr, "step_benchmark: cuda was asked for: %s\n", no_gpu.c_str());
    return 7;
  }
  const std::string& data = options.text("data");
  Setting setting{.report = report,
                  .loaders = loaders_of(options),
                  .feed = {.source = data.empty() ? pictures(options.text("folder"), 512)
                                                  : std::make_shared<const ImageFolder>(data),
                           .batch = options.number("batch"),
                           .batches = options.number("steps") + options.number("warm"),
                           .threads = options.number("threads"),
                           .device = no_gpu.empty() ? Device::cuda(0) : Device::cpu()},
                  .warm = options.number("warm"),
                  .repeats = options.number("repeats"),
                  .on_gpu = no_gpu.empty()};
  std::printf(
      "%s; JPEG, random-resized crop to 224, flip, uint8; %d workers, medians of %d "
      "rounds in turn of %d steps\n",
      no_gpu.empty() ? "GPU: cuda:0" : ("no GPU: " + no_gpu).c_str(), setting.feed.threads,
      setting.repeats, options.number("steps"));
  const std::string consumer = options.text("consumer");
  if (consumer == "resnet50" || (consumer == "auto" && setting.on_gpu)) {
    if (!setting.on_gpu) report.mark_dry();  // what a step on the CPU waits for says nothing
    trained(setting);
  } else {
    setting.on_gpu = false;
    setting.feed.device = Device::cpu();
    paced(setting, options.list("load"));
  }
}
