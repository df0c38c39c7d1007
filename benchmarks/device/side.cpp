#include <headrace/benchmarks/device/side.h>
#include <headrace/benchmarks/harness/harness.h>
#include <headrace/engine/base/error.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace headrace::inline v1::bench {

using namespace detail;

Side::Side()
    : calls_{.copy = [](void* to, const void* from, std::size_t bytes, Way,
                        Stream) { std::memcpy(to, from, bytes); },
             .delay =
                 [](double seconds, Stream) {
                   std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
                 }} {}

Side::Side(Device device, BareCalls calls)
    : device_(device),
      calls_(std::move(calls)),
      stream_(make_stream(device, false)),
      copies_(make_stream(device, true)),
      begun_(make_event(device, true)),
      ended_(make_event(device, true)) {}

void Side::begin() {
  begun_s_ = bench::seconds();
  if (!is_gpu()) return;
  const DeviceScope scope(device_);
  record(begun_, stream());
}

void Side::end() {
  ended_s_ = bench::seconds();
  if (!is_gpu()) return;
  const DeviceScope scope(device_);
  record(ended_, stream());
}

double Side::seconds() {
  if (!is_gpu()) return ended_s_ - begun_s_;
  const DeviceScope scope(device_);
  await(ended_);
  const auto between = seconds_between(begun_, ended_);
  if (!between) throw DeviceError("[device_benchmark] the device gave no time");
  return *between;
}

double Side::seconds_of_one(int times, const std::function<void()>& work) {
  begin();
  for (int i = 0; i < times; ++i)
    work();
  end();
  return seconds() / times;
}

void Side::order(Stream later, Stream earlier) const {
  if (!is_gpu()) return;
  const DeviceScope scope(device_);
  const DeviceEvent event = make_event(device_, false);
  record(event, earlier);
  wait_for(event, later);
}

Memory Side::here(std::size_t bytes) const {
  if (is_gpu()) return {.device = allocate_on_device(device_, bytes)};
  return {.host = HugePages(bytes)};
}

Memory Side::of_host(std::size_t bytes, bool page_locked) const {
  Memory memory{.host = HugePages(bytes)};
  std::memset(memory.data(), 1, bytes);
  if (!page_locked || !is_gpu()) return memory;
  std::string refusal;
  memory.lock = lock_pages(device_, memory.data(), bytes, refusal);
  if (!memory.lock) throw DeviceError("[device_benchmark] pages cannot be locked: " + refusal);
  return memory;
}

}  // namespace headrace::inline v1::bench
