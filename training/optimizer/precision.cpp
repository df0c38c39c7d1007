#include <headrace/engine/base/error.h>
#include <headrace/training/optimizer/precision.h>

#include <array>

#include <ATen/Context.h>

namespace headrace::inline v1::training {

const char* name_of(Precision precision) {
  constexpr std::array names{"fp32", "tf32", "bf16", "fp16"};
  return names.at(static_cast<std::size_t>(precision));
}

void set_device_modes(const DeviceModes& modes) {
  if (modes.cudnn_benchmark && modes.deterministic)
    throw ConfigError(
        "[training] cudnn_benchmark takes whichever algorithm is fastest in a trial, deterministic "
        "wants the same one every time; set one of them to false");
  at::Context& context = at::globalContext();
  const bool tf32 = modes.precision == Precision::tf32;
  context.setAllowTF32CuBLAS(tf32);
  context.setAllowTF32CuDNN(tf32);
  context.setBenchmarkCuDNN(modes.cudnn_benchmark);
  context.setDeterministicCuDNN(modes.deterministic);
  context.setDeterministicAlgorithms(modes.deterministic, /*warn_only=*/false);
}

}  // namespace headrace::inline v1::training
