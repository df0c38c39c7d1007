#define DOCTEST_CONFIG_IMPLEMENT
#include <ATen/Context.h>

#include "torch_doctest.h"

// LibTorch seeds its generators from the system: a test would draw other numbers in each run.
int main(int argc, char** argv) {
  at::manual_seed(1);
  return doctest::Context(argc, argv).run();
}
