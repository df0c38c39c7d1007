#include <headrace/apps/run/heap_meter.h>

#include <atomic>

namespace headrace::inline v1::app {
namespace {

std::atomic<HeapMeter> meter_of_program{nullptr};

}  // namespace

void set_heap_meter(HeapMeter meter) noexcept {
  meter_of_program = meter;
}

HeapMeter heap_meter() noexcept {
  return meter_of_program;
}

}  // namespace headrace::inline v1::app
