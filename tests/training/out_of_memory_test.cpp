#include <headrace/engine/base/error.h>
#include <headrace/training/memory/out_of_memory.h>

#include <new>
#include <stdexcept>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>
#include <doctest/doctest.h>

using headrace::training::is_out_of_memory;

namespace {

bool out_of_memory_in(const auto& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return is_out_of_memory(error);
  }
  return false;
}

}  // namespace

TEST_CASE("lack of memory is known by its type, and by the words of libraries that give it none") {
  CHECK(is_out_of_memory(std::bad_alloc()));
  CHECK(out_of_memory_in([] { TORCH_CHECK_WITH(OutOfMemoryError, false, "anything"); }));
  CHECK(out_of_memory_in([] { at::empty({std::int64_t{1} << 60}, at::kByte); }));
  CHECK(is_out_of_memory(std::runtime_error("could not create a memory object")));
  CHECK(
      is_out_of_memory(std::runtime_error("cuDNN error: CUDNN_STATUS_NOT_SUPPORTED. This error")));
}

TEST_CASE("a convolution that found no memory for its workspace says other words") {
  for (const char* said : {"GET was unable to find an engine to execute this computation",
                           "FIND was unable to find an engine to execute this computation",
                           "Unable to find a valid cuDNN algorithm to run convolution",
                           "cuFFT error: CUFFT_ALLOC_FAILED"})
    CHECK_MESSAGE(is_out_of_memory(std::runtime_error(said)), said);
}

TEST_CASE("other errors are none of memory, whatever their second line says") {
  CHECK_FALSE(is_out_of_memory(std::runtime_error("shapes differ")));
  CHECK_FALSE(is_out_of_memory(std::runtime_error("bad script\nCUDA out of memory")));
  CHECK_FALSE(out_of_memory_in([] { at::zeros({2}).view({3}); }));
  CHECK_FALSE(is_out_of_memory(headrace::ResourceError("[memory] step 1: CUDA out of memory")));
}
