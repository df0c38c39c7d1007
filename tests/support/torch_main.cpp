#define DOCTEST_CONFIG_IMPLEMENT
#include "torch_doctest.h"

#include <ATen/Context.h>

// LibTorch seeds its generators from the system: a test would draw other numbers in each run.
int main(int argc, char** argv) {
  at::manual_seed(1);
  return doctest::Context(argc, argv).run();
}
