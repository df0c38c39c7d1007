#include <headrace/engine/base/error.h>
#include <headrace/training/memory/out_of_memory.h>

#include <algorithm>
#include <array>
#include <new>
#include <string_view>

#include <c10/util/Exception.h>

namespace headrace::inline v1::training {
namespace {

constexpr std::array<std::string_view, 14> out_of_memory_words{
    "CUDA out of memory", "CUDA error: out of memory",
    "can't allocate memory",  // LibTorch's allocator for the CPU
    "CUDNN_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_NOT_SUPPORTED",  // cuDNN without memory for its workspace
    "CUBLAS_STATUS_ALLOC_FAILED",
    "could not create a memory",  // oneDNN's
    "could not create a primitive", "could not execute a primitive", "out_of_memory",
    // A convolution none of whose algorithms found memory for its workspace.
    "GET was unable to find an engine", "FIND was unable to find an engine",
    "Unable to find a valid cuDNN algorithm", "CUFFT_ALLOC_FAILED"};

}  // namespace

std::string first_line(const std::exception& error) {
  const std::string_view said = error.what();
  return std::string(said.substr(0, said.find('\n')));
}

bool is_out_of_memory(const std::exception& error) {
  if (dynamic_cast<const ResourceError*>(&error) != nullptr) return false;
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
      dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr)
    return true;
  const std::string said = first_line(error);
  return std::ranges::any_of(out_of_memory_words, [&](std::string_view one) {
    return said.find(one) != std::string_view::npos;
  });
}

}  // namespace headrace::inline v1::training
