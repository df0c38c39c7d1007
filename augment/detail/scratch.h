#pragma once

#include <headrace/engine/tensor/internal/aligned_memory.h>

#include <cstddef>

namespace headrace::inline v1::detail {

/// Memory of one thread for one purpose; grows to the largest wish and is kept.
class Scratch {
 public:
  template <class T>
  T* reserve(std::size_t count) {
    const std::size_t wanted = count * sizeof(T);
    if (wanted > bytes_) {
      memory_.reset();
      bytes_ = 0;
      memory_ = allocate_aligned(wanted);
      bytes_ = aligned_size(wanted);
    }
    return reinterpret_cast<T*>(memory_.get());
  }

 private:
  AlignedMemory memory_;
  std::size_t bytes_ = 0;
};

}  // namespace headrace::inline v1::detail
