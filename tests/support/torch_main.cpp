#define DOCTEST_CONFIG_IMPLEMENT
#include "torch_doctest.h"
#include "torch_gpu.h"

#include <ATen/Context.h>

// LibTorch seeds its generators from the system: a test would draw other numbers in each run. It
// looks once for its CUDA library, at the latest then, so that must be open before.
int main(int argc, char** argv) {
  headrace::test::open_torch_gpu();
  at::manual_seed(1);
  return doctest::Context(argc, argv).run();
}
