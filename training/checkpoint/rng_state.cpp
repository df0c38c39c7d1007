#include <headrace/training/checkpoint/rng_state.h>
#include <headrace/training/errors.h>

#include <mutex>

#include <ATen/Context.h>

namespace headrace::inline v1::training {

namespace {

std::map<std::string, at::Generator> default_generators() {
  std::map<std::string, at::Generator> generators{
      {"cpu", at::globalContext().defaultGenerator(at::kCPU)}};
  if (!at::hasCUDA()) return generators;
  const auto count = static_cast<c10::DeviceIndex>(at::detail::getCUDAHooks().deviceCount());
  for (c10::DeviceIndex i = 0; i < count; ++i)
    generators.emplace("cuda:" + std::to_string(i),
                       at::globalContext().defaultGenerator(at::Device(at::kCUDA, i)));
  return generators;
}

}  // namespace

TensorMap capture_rng_state() {
  TensorMap state;
  for (auto& [name, generator] : default_generators()) {
    const std::lock_guard lock(generator.mutex());
    state.emplace(name, generator.get_state());
  }
  return state;
}

void restore_rng_state(const TensorMap& state) {
  for (auto& [name, generator] : default_generators()) {
    const auto found = state.find(name);
    if (found == state.end()) continue;
    const std::lock_guard lock(generator.mutex());
    try {
      generator.set_state(found->second);
    } catch (const c10::Error& error) {
      throw CheckpointError("[random state] " + name + ": " + error.what_without_backtrace());
    }
  }
}

}  // namespace headrace::inline v1::training
