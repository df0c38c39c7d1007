// The leak job's training steps as `headrace train` runs them, without what comes between epochs:
// what its Python twins are held against.
#include <headrace/apps/backend/choose_device_torch.h>
#include <headrace/apps/jobs/leak/data.h>
#include <headrace/apps/jobs/leak/names.h>
#include <headrace/apps/jobs/leak/recipe_torch.h>
#include <headrace/benchmarks/harness/gpu_busy.h>
#include <headrace/benchmarks/harness/report.h>
#include <headrace/benchmarks/twins/make_leak_data.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/runtime/runtime.h>
#include <headrace/models/networks/leak_cnn.h>
#include <headrace/training/trainer/trainer.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <stop_token>
#include <string>

#include <ATen/Context.h>
#include <c10/core/impl/VirtualGuardImpl.h>

using namespace headrace;
using namespace headrace::bench;

namespace {

/// What a run of the trainer came to.
struct Figures {
  double samples_s = 0;
  double data_wait = 0;          ///< share of the time that the host waited for batches
  double exposed = 0;            ///< share that the device's stream waited for them
  std::optional<double> busy{};  ///< share of time with a kernel on the device
  std::string why_no_busy{};
  double loss = 0;  ///< the last that was read
};

struct Plan {
  app::LeakConfig config;
  app::ChosenDevice device;
  std::int64_t warm = 0;
  std::int64_t steps = 0;

  bool on_gpu() const { return device.device.is_cuda(); }
  void wait() const {
    if (!on_gpu()) return;
    const c10::Device on = app::torch_device(device.device);
    const c10::impl::VirtualGuardImpl guard(on.type());
    guard.getStream(on).synchronize();
  }
};

/// Notes the time when the first steps are done, and when enough are.
class Watch {
 public:
  Watch(const Plan& plan, const Loader& loader) : plan_(plan), loader_(loader) {}

  void on_step(const training::StepReport& step) {
    if (step.loss) figures_.loss = *step.loss;
    if (step.step == plan_.warm) begin();
    if (step.step > plan_.warm) waited_ += step.times.data_wait_s;
    if (step.step == plan_.warm + plan_.steps) end();
  }
  std::stop_token stop() const { return stop_.get_token(); }
  const Figures& figures() const { return figures_; }

 private:
  void begin() {
    plan_.wait();
    exposed_ = loader_.stats().transfer.exposed_s;
    if (plan_.on_gpu()) busy_.emplace(plan_.device.device.index);
    begun_ = seconds();
  }
  void end() {
    plan_.wait();
    const double all = seconds() - begun_;
    const auto samples = static_cast<double>(plan_.steps * plan_.config.training.batch);
    figures_.samples_s = samples / all;
    figures_.data_wait = waited_ / all;
    figures_.exposed = (loader_.stats().transfer.exposed_s - exposed_) / all;
    if (busy_) {
      figures_.busy = busy_->stop();
      figures_.why_no_busy = busy_->why();
    }
    stop_.request_stop();
  }

  const Plan& plan_;
  const Loader& loader_;
  std::optional<GpuBusy> busy_;
  std::stop_source stop_;
  Figures figures_;
  double begun_ = 0;
  double waited_ = 0;
  double exposed_ = 0;
};

std::unique_ptr<models::Network> network_of(const Plan& plan) {
  at::manual_seed(plan.config.seed);
  auto network = models::make_leak_cnn({.classes = app::leak_classes});
  network->move_to(app::torch_device(plan.device.device), plan.config.training.channels_last);
  return network;
}

Figures train(const Plan& plan) {
  const app::LeakConfig& config = plan.config;
  const app::LeakFile file = app::read_leak_file(config.data.training);
  const auto segments = app::plan_leak_data(file, config.data, plan.device.device).open();
  Loader loader = app::leak_training_pipeline(segments, file, config, plan.device.device)
                      .build({.prefetch = config.data.prefetch,
                              .runtime = Runtime({.threads = config.threads.loader})});
  const auto network = network_of(plan);
  const app::LeakCourse course(config, {.training = file}, {.training = segments},
                               app::torch_device(plan.device.device));
  training::Stage stage = course.stages().front();
  stage.early_stopping.reset();
  training::Optimizer optimizer(training::parameter_groups(stage, network->parameters()),
                                stage.optimizer);
  Watch watch(plan, loader);
  training::Trainer trainer(
      {.course = course,
       .stage = stage,
       .network = *network,
       .optimizer = optimizer,
       .train = loader},
      {.device = app::torch_device(plan.device.device)},
      {.on_step = [&](const training::StepReport& step) { watch.on_step(step); }});
  trainer.run(watch.stop());
  return watch.figures();
}

/// `[["conv1.weight", [32, 1, 3, 3]], ...]`, for a twin to compare.
void print_layers(const Plan& plan) {
  const char* comma = "[";
  for (const auto& [name, tensor] : network_of(plan)->parameters()) {
    std::printf("%s[\"%s\", [", comma, name.c_str());
    for (std::int64_t i = 0; i < tensor.dim(); ++i)
      std::printf("%s%lld", i > 0 ? ", " : "", static_cast<long long>(tensor.size(i)));
    std::printf("]]");
    comma = ", ";
  }
  std::printf("]\n");
}

Plan plan_of(const Options& options) {
  Plan plan{.config = {},
            .device = {},
            .warm = std::max(1, options.number("warm")),
            .steps = options.number("steps")};
  app::LeakConfig& config = plan.config;
  const std::string& device = options.text("device");
  plan.device = app::choose_device(device == "cpu"    ? app::DeviceChoice::cpu
                                   : device == "cuda" ? app::DeviceChoice::cuda
                                                      : app::DeviceChoice::automatic);
  config.data.training = options.text("data");
  if (options.text("residence") == "device") config.data.residence = app::LeakResidence::device;
  config.training.batch = options.number("batch");
  if (options.text("precision") == "bf16") config.training.precision = training::Precision::bf16;
  config.training.epochs = 1'000'000;  // the steps end it
  config.threads.loader = options.number("workers");
  return plan;
}

Row figure(const std::string& section, const std::string& unit, double value) {
  return {.section = section,
          .contender = "headrace",
          .unit = unit,
          .median = value,
          .low = value,
          .high = value,
          .repeats = 1};
}

void add_figures(Report& report, const Plan& plan, const Figures& figures) {
  const std::string title = "leak job, batch of " + std::to_string(plan.config.training.batch);
  report.add({figure(title, "samples/s", figures.samples_s)});
  Row data = figure(title + ": data wait", "share", figures.data_wait);
  data.goal = share_below(0.01);
  Row exposed = figure(title + ": exposed copy", "share", figures.exposed);
  exposed.goal = share_below(0.01);
  Row busy = figure(title + ": GPU busy", "share", figures.busy.value_or(0));
  if (!plan.on_gpu()) exposed.missing = busy.missing = "no GPU is used";
  if (plan.on_gpu() && !figures.busy) busy.missing = figures.why_no_busy;
  for (const Row& row : {data, exposed, busy})
    report.add({row});
  std::printf("last loss that was read: %.4f\n", figures.loss);
}

int run(const Options& options) {
  const Plan plan = plan_of(options);
  if (options.is_set("layers")) {
    print_layers(plan);
    return 0;
  }
  make_leak_data(plan.config.data.training, options.number("recordings"));
  Report report("leak_step_benchmark", options);
  if (!plan.on_gpu()) report.mark_dry();
  std::printf("%s; %s; segments in the memory of the %s\n", plan.device.why.c_str(),
              options.text("precision").c_str(), options.text("residence").c_str());
  add_figures(report, plan, train(plan));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options("leak_step_benchmark", "the leak job's training steps, for benchmarks/twins/run");
  options
      .add("data", (std::filesystem::temp_directory_path() / "headrace-bench/leak.h5").string(),
           "HDF5 file of the job's layout, made if it is not there")
      .add("recordings", "4096", "of a file that is made, 80 segments each")
      .add("device", "auto", "cuda, cpu, or auto")
      .add("batch", "8192", "segments a step")
      .add("steps", "200", "that count")
      .add("warm", "20", "before them")
      .add("workers", std::to_string(usable_cores()), "of the loader")
      .add("residence", "host", "where the segments are: host or device")
      .add("precision", "bf16", "of the forward pass: bf16 or fp32")
      .add_flag("layers", "print the network's parameters and their shapes, and end")
      .add_json();
  options.parse(argc, argv);
  try {
    return run(options);
  } catch (const DeviceError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 7;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
