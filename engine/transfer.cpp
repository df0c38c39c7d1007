#include <headrace/engine/detail/transfer.h>

#include <utility>

#include <headrace/engine/detail/byte_count.h>

namespace headrace::inline v1::detail {

namespace {

/// CUDA's own allocations begin at multiples of this; so do ours within one.
constexpr std::size_t alignment = 256;

/// Batches whose times may be outstanding at once; those beyond are not timed.
constexpr std::size_t most_timed = 32;

std::size_t aligned(std::size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

Tensor BatchMemory::make(DType dtype, const Shape& shape) {
  if (!device.is_cuda()) return Tensor::empty(dtype, shape);
  const std::size_t bytes = aligned(byte_count(dtype, shape));
  std::byte* to = room;
  if (bytes <= room_left) {
    room += bytes;
    room_left -= bytes;
  } else {
    to = more.emplace_back(allocate_on_device(device, bytes)).get();
  }
  return Tensor::borrow(to, dtype, shape, {}, device);
}

Transfer::Transfer(Device device, const Sizes& sizes)
    : device_(device),
      sizes_(sizes),
      stride_(aligned(sizes.slab_bytes) + aligned(sizes.made_bytes)) {
  memory_ = allocate_on_device(device_, stride_ * static_cast<std::size_t>(sizes.slots));
  copies_ = make_stream(device_, false);
  operations_ = make_stream(device_, true);
  free_.reserve(static_cast<std::size_t>(sizes.slots));
  for (int i = 0; i < sizes.slots; ++i) {
    auto slot = std::make_unique<DeviceSlot>();
    slot->memory = memory_.get() + stride_ * static_cast<std::size_t>(i);
    slot->device = device_;
    slot->room = slot->memory + aligned(sizes.slab_bytes);
    slot->room_left = aligned(sizes.made_bytes);
    slot->copied = make_event(device_, false);
    slot->ready = make_event(device_, false);
    slots_.push_back(std::move(slot));
    free_.push_back(slots_.back().get());
  }
  if (sizes.timed) times_.resize(most_timed);
  for (TransferTimes& times : times_) {
    for (DeviceEvent* event : {&times.begun, &times.copied, &times.asked, &times.granted})
      *event = make_event(device_, true);
    unused_times_.push_back(&times);
  }
  stats_.device_bytes = static_cast<std::int64_t>(bytes());
}

Transfer::~Transfer() {
  for (const auto& slot : slots_) {
    for (std::size_t i = 0; i < slot->releases; ++i)
      drain(slot->released[i]);
  }
  drain({copies_.get()});
  drain({operations_.get()});
}

std::string Transfer::lock_host_memory(std::byte* memory, std::size_t bytes) {
  std::string refusal;
  pages_ = lock_pages(device_, memory, bytes, refusal);
  stats_.page_locked = pages_ != nullptr;
  return refusal;
}

DeviceSlot* Transfer::take() {
  std::lock_guard lock(mutex_);
  if (free_.empty()) return nullptr;
  DeviceSlot* slot = free_.front();
  free_.erase(free_.begin());
  return slot;
}

void Transfer::put_back(DeviceSlot* slot) noexcept {
  std::lock_guard lock(mutex_);
  free_.push_back(slot);
}

void Transfer::send(DeviceSlot& slot, const std::byte* slab, void (*function)(void*),
                    void* argument) {
  const DeviceScope scope(device_);
  const Stream copies{copies_.get()};
  if (slot.times == nullptr) slot.times = times_for_next();
  if (slot.used) wait_for(slot.ready, copies);
  for (std::size_t i = 0; i < slot.releases; ++i)
    wait_for(slot.released[i], copies);
  slot.releases = 0;
  if (slot.times != nullptr) record(slot.times->begun, copies);
  copy_to_device(slot.memory, slab, sizes_.slab_bytes, copies);
  if (slot.times != nullptr) record(slot.times->copied, copies);
  record(slot.copied, copies);
  call_when_reached(copies, function, argument);
  std::lock_guard lock(mutex_);
  ++stats_.copies;
  stats_.bytes += static_cast<std::int64_t>(sizes_.slab_bytes);
}

/// Counts the batches whose times are known by now; null while too many are outstanding.
TransferTimes* Transfer::times_for_next() {
  std::lock_guard lock(mutex_);
  while (!outstanding_times_.empty()) {
    TransferTimes* times = outstanding_times_.front();
    const auto copy = seconds_between(times->begun, times->copied);
    const auto wait = seconds_between(times->asked, times->granted);
    if (!copy || !wait) break;
    ++stats_.timed;
    stats_.copy_s += *copy;
    stats_.exposed_s += *wait;
    outstanding_times_.pop_front();
    unused_times_.push_back(times);
  }
  if (unused_times_.empty()) return nullptr;
  TransferTimes* times = unused_times_.back();
  unused_times_.pop_back();
  return times;
}

Stream Transfer::operations(const DeviceSlot& slot) {
  const DeviceScope scope(device_);
  const Stream stream{operations_.get()};
  wait_for(slot.copied, stream);
  return stream;
}

void Transfer::finish(DeviceSlot& slot) {
  const DeviceScope scope(device_);
  record(slot.ready, {operations_.get()});
  slot.used = true;
}

void Transfer::lend(DeviceSlot& slot, Stream to, std::size_t lent) {
  const DeviceScope scope(device_);
  if (slot.released.size() == lent) slot.released.push_back(make_event(device_, false));
  const bool timed = lent == 0 && slot.times != nullptr;
  if (timed) record(slot.times->asked, to);
  wait_for(slot.ready, to);
  if (!timed) return;
  record(slot.times->granted, to);
  std::lock_guard lock(mutex_);
  outstanding_times_.push_back(std::exchange(slot.times, nullptr));
}

void Transfer::release(DeviceSlot& slot, std::span<const Stream> streams) noexcept {
  try {
    const DeviceScope scope(device_);
    for (const Stream stream : streams) {
      record(slot.released[slot.releases], stream);
      ++slot.releases;
    }
  } catch (...) {
    // The device has failed: the next copy says so.
    return;
  }
}

void Transfer::require_health() const {
  detail::require_health({copies_.get()});
}

TransferStats Transfer::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

void Transfer::reset_stats() {
  std::lock_guard lock(mutex_);
  stats_ = {.page_locked = stats_.page_locked, .device_bytes = stats_.device_bytes};
}

}  // namespace headrace::inline v1::detail
