#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/home_process.h>
#include <headrace/engine/device/internal/transfer.h>
#include <headrace/engine/stats/internal/recorder.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <string>
#include <utility>

namespace headrace::inline v1::detail {

namespace {

/// Batches whose times may be outstanding at once; those beyond are not timed.
constexpr std::size_t most_timed = 32;

/// Streams that are known to be of the device; beyond these they are asked again.
constexpr std::size_t most_known = 16;

/// CUDA's cudaStreamPerThread.
void* const stream_of_each_thread = reinterpret_cast<void*>(2);

/// While a stream is being captured its work is not done: no loan can begin or end there.
void refuse_capture(Stream stream, Device device, const char* what, const char* cure) {
  if (!is_capturing(stream)) return;
  throw DeviceError("[batch] " + to_string(device) + ": " + what +
                    " on a stream that is being captured into a graph; " + cure);
}

}  // namespace

std::shared_ptr<Transfer> Transfer::open(Device device, const Sizes& sizes,
                                         std::shared_ptr<const void> slabs) {
  const HomeProcess home;
  return {new Transfer(device, sizes, std::move(slabs)), [home](Transfer* transfer) {
            if (!is_process_ending() && !home.left() && transfer->settle()) {
              delete transfer;
            } else {
              leave_to_system(transfer);
            }
          }};
}

/// Still reachable, for checkers of leaks.
void Transfer::leave_to_system(Transfer* transfer) noexcept {
  static std::atomic<Transfer*> left = nullptr;
  transfer->left_before_ = left.load();
  while (!left.compare_exchange_weak(transfer->left_before_, transfer)) {
  }
}

Transfer::Transfer(Device device, const Sizes& sizes, std::shared_ptr<const void> slabs)
    : device_(device),
      sizes_(sizes),
      stride_(sizes.slot_bytes),
      slabs_(std::move(slabs)),
      memory_(allocate_on_device(device, stride_ * static_cast<std::size_t>(sizes.slots))),
      copies_(make_stream(device, false)),
      operations_(make_stream(device, true)),
      callbacks_(make_stream(device, false)) {
  make_slots();
  own_streams_.reserve(most_known);
  if (sizes.timed) times_.resize(most_timed);
  for (TransferTimes& times : times_) {
    for (DeviceEvent* event : {&times.begun, &times.copied, &times.asked, &times.granted})
      *event = make_event(device_, true);
    unused_times_.push_back(&times);
  }
  stats_.device_bytes = static_cast<std::int64_t>(stride_ * slots_.size());
}

void Transfer::make_slots() {
  free_.reserve(static_cast<std::size_t>(sizes_.slots));
  for (int i = 0; i < sizes_.slots; ++i) {
    auto slot = std::make_unique<DeviceSlot>();
    slot->returns = &returns_;
    slot->memory = memory_.get() + stride_ * static_cast<std::size_t>(i);
    slot->device = device_;
    slot->set_aside(slot->memory + piece_bytes(sizes_.slab_bytes), sizes_.made);
    slot->copied = make_event(device_, false);
    slot->ready = make_event(device_, false);
    slots_.push_back(std::move(slot));
    free_.push_back(slots_.back().get());
  }
}

/// Waits until nothing of it is at work. False: nobody can say.
bool Transfer::settle() noexcept {
  try {
    const DeviceScope scope(device_);
    for (const auto& slot : slots_) {
      for (std::size_t i = 0; i < slot->releases; ++i)
        drain(slot->released[i]);
    }
    drain({copies_.get()});
    drain({operations_.get()});
    drain({callbacks_.get()});
    return true;
  } catch (...) {
    return false;
  }
}

Transfer::~Transfer() {
  if (!lost_) return;
  // Somebody may still use a slot that nobody gave back; the system frees it with the process.
  static_cast<void>(memory_.release());
  for (const auto& slot : slots_)
    for (DeviceMemory& piece : slot->more)
      static_cast<void>(piece.release());
}

std::string Transfer::lock_host_memory(std::byte* memory, std::size_t bytes) {
  std::string refusal;
  pages_ = lock_pages(device_, memory, bytes, refusal);
  std::lock_guard lock(mutex_);
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

void Transfer::set_free(DeviceSlot* slot) noexcept {
  std::lock_guard lock(mutex_);
  free_.push_back(slot);
}

bool Transfer::has_free() const noexcept {
  std::lock_guard lock(mutex_);
  return !free_.empty();
}

void Transfer::prepare(DeviceSlot& slot) {
  const DeviceScope scope(device_);
  const Stream copies{copies_.get()};
  if (slot.times == nullptr) slot.times = times_for_next();
  if (slot.used) wait_for(slot.ready, copies);
  for (std::size_t i = 0; i < slot.releases; ++i)
    wait_for(slot.released[i], copies);
  slot.releases = 0;
  if (slot.times == nullptr) return;
  slot.times->issued_ns = now_ns();
  record(slot.times->begun, copies);
}

void Transfer::copy(DeviceSlot& slot, BatchMemory& slab) {
  const DeviceScope scope(device_);
  const Stream copies{copies_.get()};
  copy_to_device(slot.memory, slab.memory, sizes_.slab_bytes, copies);
  if (slot.times != nullptr) record(slot.times->copied, copies);
  record(slot.copied, copies);
  slab.returns = &returns_;
  if (pages_ == nullptr) await(copies);  // it is staged by now, and nothing else is on the stream
  if (!sizes_.keeps_slabs) {
    if (pages_ != nullptr) {
      return_behind(slot.copied, slab);
    } else {
      returns_.push(&slab);
    }
  }
  std::lock_guard lock(mutex_);
  ++stats_.copies;
  stats_.bytes += static_cast<std::int64_t>(sizes_.slab_bytes);
}

/// Not on the streams that copy or compute: what follows there would wait for the driver's thread.
void Transfer::return_behind(const DeviceEvent& event, BatchMemory& slab) {
  const Stream callbacks{callbacks_.get()};
  wait_for(event, callbacks);
  call_when_reached(callbacks, Returns::push_this, static_cast<Returnable*>(&slab));
}

void Transfer::give_back(const DeviceSlot& slot, BatchMemory& slab) {
  const DeviceScope scope(device_);
  wait_for(slot.copied, {callbacks_.get()});  // `ready` is not behind it where operations() failed
  return_behind(slot.ready, slab);
}

void Transfer::keep(const TransferTimes& times, double copy_s, double exposed_s) noexcept {
  if (kept_copies_.empty()) return;
  kept_copies_[next_copy_++ % kept_copies_.size()] = {
      .issued_ns = times.issued_ns,
      .duration_ns = static_cast<std::int64_t>(copy_s * 1e9),
      .exposed_ns = static_cast<std::int64_t>(exposed_s * 1e9)};
}

void Transfer::keep_copies(std::size_t most) {
  const std::lock_guard lock(mutex_);
  kept_copies_.assign(most, {});
}

std::vector<TraceCopy> Transfer::copies_since(std::int64_t ns) {
  static_cast<void>(stats());
  const std::lock_guard lock(mutex_);
  std::vector<TraceCopy> copies;
  std::ranges::copy_if(kept_copies_, std::back_inserter(copies),
                       [ns](const TraceCopy& copy) { return copy.issued_ns >= ns; });
  std::ranges::sort(copies, {}, &TraceCopy::issued_ns);
  return copies;
}

/// Counts the batches whose times are known by now; the caller holds the lock, inside a
/// DeviceScope.
void Transfer::count_times() {
  while (!outstanding_times_.empty()) {
    TransferTimes* times = outstanding_times_.front();
    const auto copy = seconds_between(times->begun, times->copied);
    const auto wait = seconds_between(times->asked, times->granted);
    if (!copy || !wait) break;
    ++stats_.timed;
    stats_.copy_s += *copy;
    stats_.exposed_s += *wait;
    stats_.exposed_since_built_s += *wait;
    keep(*times, *copy, *wait);
    outstanding_times_.pop_front();
    unused_times_.push_back(times);
  }
}

/// Null while too many are outstanding.
TransferTimes* Transfer::times_for_next() {
  std::lock_guard lock(mutex_);
  count_times();
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

/// CUDA takes an event on streams of the event's device alone, and says so only when it is asked
/// to.
void Transfer::require_own(const DeviceEvent& event, Stream stream) {
  {
    std::lock_guard lock(mutex_);
    if (std::ranges::find(own_streams_, stream.handle) != own_streams_.end()) return;
  }
  try {
    record(event, stream);
  } catch (const DeviceError& error) {
    throw DeviceError("[batch] a batch of " + to_string(device_) +
                      " can be lent to streams of that device alone, this one does not take its "
                      "event: let it wait for a stream of that device instead (" +
                      error.what() + ")");
  }
  std::lock_guard lock(mutex_);
  if (own_streams_.size() < most_known) own_streams_.push_back(stream.handle);
}

void Transfer::lend(DeviceSlot& slot, Stream to, std::size_t lent) {
  if (to.handle == stream_of_each_thread) {
    throw DeviceError(
        "[batch] a batch cannot be lent to cudaStreamPerThread, which is another stream on "
        "each thread, and its last reference may die on any; lend it to a stream that was made");
  }
  const DeviceScope scope(device_);
  refuse_capture(to, device_, "a batch cannot be lent",
                 "take the batch before the capture, or lend it to another stream");
  if (slot.released.size() == lent) slot.released.push_back(make_event(device_, false));
  require_own(slot.released[lent], to);
  const bool timed = lent == 0 && slot.times != nullptr;
  if (timed) record(slot.times->asked, to);
  wait_for(slot.ready, to);
  if (!timed) return;
  record(slot.times->granted, to);
  std::lock_guard lock(mutex_);
  outstanding_times_.push_back(std::exchange(slot.times, nullptr));
}

std::exception_ptr Transfer::end_loan(DeviceSlot& slot, std::span<const Stream> streams) noexcept {
  try {
    const DeviceScope scope(device_);
    if (slot.unknown) {
      throw DeviceError("[device] " + to_string(device_) +
                        ": an event could not be recorded behind a failed batch; its memory is "
                        "not used again");
    }
    for (const Stream stream : streams) {
      refuse_capture(stream, device_, "a batch's last reference died while it was lent",
                     "keep the batch until the capture has ended");
      record(slot.released[slot.releases], stream);
      ++slot.releases;
    }
    if (pages_ != nullptr) {
      set_free(&slot);
      return nullptr;
    }
    // A copy of pageable memory would make its caller wait for these.
    const Stream callbacks{callbacks_.get()};
    if (slot.used) wait_for(slot.ready, callbacks);
    for (std::size_t i = 0; i < slot.releases; ++i)
      wait_for(slot.released[i], callbacks);
    call_when_reached(callbacks, Returns::push_this, static_cast<Returnable*>(&slot));
    return nullptr;
  } catch (...) {
    std::lock_guard lock(mutex_);
    lost_ = true;
    return std::current_exception();
  }
}

void Transfer::require_health() const {
  const DeviceScope scope(device_);
  detail::require_health({copies_.get()});
}

/// A device that cannot be asked leaves the times as they are: statistics are no place for errors.
void Transfer::count_known_times() noexcept {
  try {
    const DeviceScope scope(device_);
    std::lock_guard lock(mutex_);
    count_times();
  } catch (...) {
    return;
  }
}

TransferStats Transfer::stats() {
  count_known_times();
  std::lock_guard lock(mutex_);
  return stats_;
}

void Transfer::reset_stats() {
  count_known_times();
  std::lock_guard lock(mutex_);
  stats_ = {.exposed_since_built_s = stats_.exposed_since_built_s,
            .page_locked = stats_.page_locked,
            .device_bytes = stats_.device_bytes};
}

}  // namespace headrace::inline v1::detail
