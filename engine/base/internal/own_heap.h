#pragma once

#include <cstdint>

namespace headrace::inline v1::detail {

/// How a program counts what a thread holds of the heap; see RuntimeOptions::heap_meter. The first
/// that is given stays: null counts nothing.
void set_own_heap_meter(std::int64_t (*meter)() noexcept) noexcept;

/// What the calling thread holds of the heap, without what it took while an OwnHeap lived; 0
/// without a meter.
std::int64_t heap_of_steps() noexcept;

/// While it lives, what its thread takes and gives back is the engine's own: pools and caches,
/// which one step fills and another, or nobody's call, empties.
class OwnHeap {
 public:
  OwnHeap() noexcept;
  ~OwnHeap();
  OwnHeap(const OwnHeap&) = delete;
  OwnHeap& operator=(const OwnHeap&) = delete;

 private:
  std::int64_t before_;
};

}  // namespace headrace::inline v1::detail
