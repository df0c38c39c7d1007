#include <headrace/engine/loader/detail/flight.h>

#include <utility>

namespace headrace::inline v1::detail {

Slab* Flight::bind(SlabPool& pool) {
  Slab* bound = slab.load(std::memory_order_acquire);
  if (bound != nullptr) return bound;
  std::lock_guard lock(mutex);
  bound = slab.load(std::memory_order_relaxed);
  if (bound == nullptr) {
    bound = pool.take();
    slab.store(bound, std::memory_order_release);
  }
  return bound;
}

void Flight::fail(std::int64_t row, std::exception_ptr cause) {
  std::lock_guard lock(mutex);
  run->fail(sequence);
  if (row >= error_row) return;
  error_row = row;
  error = std::move(cause);
}

}  // namespace headrace::inline v1::detail
