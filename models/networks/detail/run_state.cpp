#include <headrace/models/networks/detail/run_state.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>

namespace headrace::inline v1::models::detail {

namespace autocast = at::autocast;

namespace {

std::vector<at::Generator> default_generators(const std::vector<at::Tensor>& tensors) {
  std::set<c10::DeviceIndex> gpus;
  for (const at::Tensor& tensor : tensors)
    if (tensor.is_cuda()) gpus.insert(tensor.device().index());
  std::vector<at::Generator> generators{at::globalContext().defaultGenerator(at::kCPU)};
  for (const c10::DeviceIndex gpu : gpus)
    generators.push_back(at::globalContext().defaultGenerator(at::Device(at::kCUDA, gpu)));
  return generators;
}

}  // namespace

RunState::GeneratorState RunState::state_of(at::Generator generator) {
  const std::lock_guard lock(generator.mutex());
  GeneratorState state{.generator = generator};
  if (generator.device().is_cpu()) {
    state.bytes = generator.get_state();
  } else {
    state.seed = generator.current_seed();
    state.offset = generator.get_offset();
  }
  return state;
}

RunState RunState::now(const std::vector<at::Tensor>& tensors) {
  RunState state;
  for (at::Generator& generator : default_generators(tensors))
    state.generators_.push_back({.generator = std::move(generator)});
  return state.now();
}

RunState RunState::now() const {
  RunState state;
  for (const GeneratorState& known : generators_)
    state.generators_.push_back(state_of(known.generator));
  constexpr std::array devices{at::kCPU, at::kCUDA};
  std::ranges::transform(devices, state.autocast_.begin(), [](at::DeviceType device) {
    return Autocast{.device = device,
                    .enabled = autocast::is_autocast_enabled(device),
                    .type = autocast::get_autocast_dtype(device)};
  });
  state.autocast_cache_ = autocast::is_autocast_cache_enabled();
  return state;
}

void RunState::apply() const {
  for (const GeneratorState& state : generators_) {
    at::Generator generator = state.generator;
    const std::lock_guard lock(generator.mutex());
    if (generator.device().is_cpu()) {
      generator.set_state(state.bytes);
    } else {
      generator.set_current_seed(state.seed);  // sets the offset to 0, too
      generator.set_offset(state.offset);
    }
  }
  for (const Autocast& of : autocast_) {
    autocast::set_autocast_enabled(of.device, of.enabled);
    autocast::set_autocast_dtype(of.device, of.type);
  }
  autocast::set_autocast_cache_enabled(autocast_cache_);
}

bool RunState::autocasts() const {
  return std::ranges::any_of(autocast_, &Autocast::enabled);
}

// Casts of weights that were made elsewhere belong to another graph, or to none.
Replay::Replay(const RunState& state) : before_(state.now()), autocasts_(state.autocasts()) {
  state.apply();
  if (!autocasts_) return;
  autocast::increment_nesting();
  autocast::clear_cache();
}

Replay::~Replay() {
  if (autocasts_) {
    autocast::decrement_nesting();
    autocast::clear_cache();
  }
  before_.apply();
}

}  // namespace headrace::inline v1::models::detail
