// Says which CUDA runtime a device would be used through and what asking for one gives; then works
// on the CPU. An argument names a runtime that the process loads first.
#include <headrace/engine/headrace.h>
#include <headrace/loaders/synthetic/synthetic.h>

#include <cstdio>

#include <dlfcn.h>

namespace {

headrace::Pipeline pipeline() {
  return headrace::Pipeline::from(headrace::SyntheticSource({.rows = 64})).batch({.size = 8});
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1 && dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  try {
    std::printf("runtime: %s\n", headrace::device_runtime().c_str());
  } catch (const headrace::DeviceError& error) {
    std::printf("no runtime: %s\n", error.what());
  }
  try {
    static_cast<void>(pipeline().to(headrace::Device::cuda(0)).build());
    std::printf("cuda:0 can be used\n");
  } catch (const headrace::DeviceError& error) {
    std::printf("refused: %s\n", error.what());
  }
  headrace::Loader loader = pipeline().build();
  int batches = 0;
  for (headrace::Batch& batch : loader.epoch(0))
    batches += batch.size() == 8;
  std::printf("%d batches on the CPU\n", batches);
  return batches == 8 ? 0 : 2;
}
