#include <headrace/benchmarks/harness/harness.h>
#include <headrace/benchmarks/step/resnet50.h>
#include <headrace/benchmarks/step/step.h>
#include <headrace/monitor/step_clock.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include <c10/core/Event.h>
#include <torch/optim/sgd.h>

#include <dlfcn.h>
#include <unistd.h>

namespace headrace::inline v1::bench {

namespace {

using monitor::StepPart;

Budget mean(const Budget& sum, std::size_t steps) {
  const double share = 1.0 / static_cast<double>(std::max<std::size_t>(1, steps));
  return {sum.wall_s * share, sum.data_wait_s * share, sum.copy_s * share, sum.compute_s * share};
}

/// Makes of uint8 pictures, channels last, what the network takes: the same for every feed.
class Normalised {
 public:
  explicit Normalised(c10::Device device)
      : mean_(torch::tensor({0.485F, 0.456F, 0.406F}).mul_(255).to(device)),
        std_(torch::tensor({0.229F, 0.224F, 0.225F}).mul_(255).to(device)) {}

  torch::Tensor operator()(const torch::Tensor& images, c10::ScalarType type) const {
    return images.to(torch::kFloat32).sub_(mean_).div_(std_).to(type).permute({0, 3, 1, 2});
  }

 private:
  torch::Tensor mean_;
  torch::Tensor std_;
};

}  // namespace

Budget paced_run(const Feed& feed, double step_s, int warm) {
  Budget sum;
  Pictures pictures;
  monitor::StepClock clock;
  for (int step = 0;; ++step) {
    clock.enter(StepPart::data_wait);
    if (!feed(pictures)) return mean(sum, static_cast<std::size_t>(std::max(0, step - warm)));
    clock.enter(StepPart::compute);
    std::this_thread::sleep_for(std::chrono::duration<double>(step_s - 60e-6));
    clock.enter(StepPart::other);
    pictures = {};
    const Budget times = clock.end_step();
    if (step >= warm) sum += times;
  }
}

struct Trainer::State {
  explicit State(c10::Device on)
      : device(on), type(on.is_cuda() ? torch::kBFloat16 : torch::kFloat32), normalised(on) {
    net->to(device, type);
    for (torch::Tensor& weight : net->parameters()) {
      if (weight.dim() == 4) weight.set_data(weight.contiguous(torch::MemoryFormat::ChannelsLast));
    }
  }

  void step(const Pictures& pictures) {
    optimiser.zero_grad();
    loss = torch::cross_entropy_loss(
        net->forward(normalised(pictures.images, type)).to(torch::kFloat32), pictures.labels);
    loss.backward();
    optimiser.step();
  }

  c10::Device device;
  c10::ScalarType type;
  Normalised normalised;
  ResNet50 net;
  torch::optim::SGD optimiser{net->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9)};
  torch::Tensor loss;
};

namespace {

/// Marks on the stream of a device, and the host's waits between them.
class Timeline {
 public:
  explicit Timeline(c10::Device device)
      : guard_(device.type()), stream_(guard_.getStream(c10::Device(device.type(), 0))) {}

  void mark() {
    marks_.emplace_back(c10::DeviceType::CUDA, c10::EventFlag::BACKEND_DEFAULT);
    marks_.back().record(stream_);
  }
  void waited(double seconds) { waits_.push_back(seconds); }

  /// Marks alternate: before a batch is asked for, and when the step may start.
  Budget budget(std::size_t warm) const {
    marks_.back().synchronize();
    const auto between = [&](std::size_t a, std::size_t b) {
      return 1e-3 * marks_[a].elapsedTime(marks_[b]);
    };
    const std::size_t steps = marks_.size() / 2;
    Budget sum;
    for (std::size_t k = warm; k < steps; ++k) {
      const double idle = between(2 * k, 2 * k + 1);
      const double data = std::min(idle, waits_[k]);
      const double compute = between(2 * k + 1, 2 * k + 2);
      sum += {.wall_s = idle + compute,
              .data_wait_s = data,
              .copy_s = idle - data,
              .compute_s = compute};
    }
    return mean(sum, steps - warm);
  }

 private:
  c10::impl::VirtualGuardImpl guard_;
  c10::Stream stream_;
  std::vector<c10::Event> marks_;
  std::vector<double> waits_;
};

}  // namespace

Trainer::Trainer(c10::Device device) : state_(std::make_shared<State>(device)) {}

double Trainer::loss() const {
  return state_->loss.item<double>();
}

Budget Trainer::run(const Feed& feed, int warm) {
  Pictures pictures;
  if (!state_->device.is_cuda()) {
    Budget sum;
    monitor::StepClock clock;
    for (int step = 0;; ++step) {
      clock.enter(StepPart::data_wait);
      if (!feed(pictures)) return mean(sum, static_cast<std::size_t>(std::max(0, step - warm)));
      clock.enter(StepPart::compute);
      state_->step(pictures);
      const Budget times = clock.end_step();
      if (step >= warm) sum += times;
    }
  }
  Timeline line(state_->device);
  for (;;) {
    line.mark();
    const double asked = seconds();
    if (!feed(pictures)) return line.budget(static_cast<std::size_t>(warm));
    line.waited(seconds() - asked);
    if (!pictures.images
             .is_cuda())  // torch::data has no copy of its own, and no page-locked memory
      pictures = {pictures.images.to(state_->device, true),
                  pictures.labels.to(state_->device, true)};
    line.mark();
    state_->step(pictures);
  }
}

void Trainer::print_layers() {
  const ResNet50 net;
  const char* comma = "[";
  for (const auto& parameter : net->named_parameters()) {
    std::printf("%s[\"%s\", [", comma, parameter.key().c_str());
    for (std::int64_t i = 0; i < parameter.value().dim(); ++i)
      std::printf("%s%lld", i > 0 ? ", " : "", static_cast<long long>(parameter.value().size(i)));
    std::printf("]]");
    comma = ", ";
  }
  std::printf("]\n");
}

std::string open_gpu() {
  if (::access("/dev/nvidiactl", F_OK) != 0) return "this machine has no GPU that its driver shows";
  if (::dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr)
    return std::string("LibTorch's CUDA library cannot be opened: ") + ::dlerror();
  if (!torch::globalContext().hasCUDA()) return "LibTorch finds no GPU it can use";
  return {};
}

}  // namespace headrace::inline v1::bench
