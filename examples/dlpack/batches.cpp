// Batches of a known table, handed out as DLPack tensors through a C interface: row r of field "x"
// is {3 r, 3 r + 1, 3 r + 2}.
#include <headrace/engine/headrace.h>
#include <headrace/engine/tensor/dlpack.h>
#include <headrace/loaders/memory/table.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t rows = 96;

headrace::Loader open_loader(int loans) {
  std::vector<float> x(rows * 3);
  std::iota(x.begin(), x.end(), 0.0F);
  headrace::Table table({{"x", headrace::Tensor::of<float>(x, {rows, 3})}});
  return headrace::Pipeline::from(std::move(table))
      .batch({.size = 16})
      .build({.prefetch = 2, .loans = loans});
}

struct Batches {
  headrace::Loader loader;
  std::string error;
};

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void* batches_open(int loans) {
  return new Batches{open_loader(loans), {}};
}

// The next batch's "x"; null at the end of an epoch, and where batches_error() says why. Whoever
// takes it calls its deleter once; until then the batch is on loan.
__attribute__((visibility("default"))) DLManagedTensor* batches_next(void* handle) {
  auto& batches = *static_cast<Batches*>(handle);
  batches.error.clear();
  try {
    const headrace::NextBatch next = batches.loader.next();
    return next.batch ? headrace::to_dlpack(next.batch["x"]) : nullptr;
  } catch (const headrace::Error& error) {
    batches.error = error.what();
    return nullptr;
  }
}

__attribute__((visibility("default"))) const char* batches_error(const void* handle) {
  return static_cast<const Batches*>(handle)->error.c_str();
}

__attribute__((visibility("default"))) void batches_close(void* handle) {
  delete static_cast<Batches*>(handle);
}

}  // extern "C"
