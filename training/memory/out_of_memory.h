#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/training/memory/tensor_memory.h>

#include <exception>
#include <optional>
#include <string>

#include <c10/core/Device.h>

namespace headrace::inline v1::training {

/// Whether an error means that memory could not be had, of the host or of a device: by its type, or
/// where libraries below LibTorch give it none, by its words. A `ResourceError` is what such an
/// error has come to, and is none itself.
HEADRACE_API bool is_out_of_memory(const std::exception& error);

/// The first line of what an error says: LibTorch's have a backtrace behind it.
HEADRACE_API std::string first_line(const std::exception& error);

/// Does the work. Where memory runs out in it: what is said of that, in a line. All other errors
/// pass.
template <class Work>
std::optional<std::string> lack_in(const Work& work) {
  try {
    work();
  } catch (const std::exception& error) {
    if (!is_out_of_memory(error)) throw;
    return first_line(error);
  }
  return std::nullopt;
}

/// Does work that changes nothing where it throws, and where memory runs out in it once more, with
/// what could be given back.
template <class Work>
void try_twice(c10::Device device, const Work& work) {
  if (!lack_in(work)) return;
  release_unused_memory(device);
  work();
}

}  // namespace headrace::inline v1::training
