#include <headrace/engine/base/internal/own_heap.h>

#include <atomic>

namespace headrace::inline v1::detail {
namespace {

std::atomic<std::int64_t (*)() noexcept> meter_of_process{nullptr};
constinit thread_local std::int64_t own = 0;

std::int64_t heap() noexcept {
  const auto meter = meter_of_process.load(std::memory_order_relaxed);
  return meter != nullptr ? meter() : 0;
}

}  // namespace

void set_own_heap_meter(std::int64_t (*meter)() noexcept) noexcept {
  std::int64_t (*none)() noexcept = nullptr;
  if (meter != nullptr) meter_of_process.compare_exchange_strong(none, meter);
}

std::int64_t heap_of_steps() noexcept {
  return heap() - own;
}

OwnHeap::OwnHeap() noexcept : before_(heap()) {}

OwnHeap::~OwnHeap() {
  own += heap() - before_;
}

}  // namespace headrace::inline v1::detail
