// Memory of a loader: taken with its first epoch, given back while it has no work; and what comes
// back from loans and from the device.
#include <headrace/engine/loader/detail/loader_core.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace headrace::inline v1::detail {

namespace {

/// Pages are faulted in pieces of this size, by all workers: the system zeroes them one by one, and
/// locking them after that costs a fifth.
constexpr std::size_t touched_bytes = std::size_t{32} << 20;

void touch(std::byte* memory, std::size_t bytes) {
  constexpr std::size_t page = 4096;
  for (std::size_t at = 0; at < bytes; at += page)
    static_cast<volatile std::byte*>(memory)[at] = std::byte{};
}

}  // namespace

/// Unlocks while it opens the device, which may take seconds.
void LoaderCore::take_memory(Lock& lock) {
  if (materialised_) return;
  runtime_->acquire(plan_->held_bytes(), "loader \"" + plan_->recipe.name + "\"");
  if (plan_->device_slots > 0 && !transfer_) {
    std::shared_ptr<Transfer> transfer;
    std::vector<DeviceWork::Run> work;
    try {
      unlocked(lock, [&] {
        work = begin_device_work();
        transfer = open_device();
      });
    } catch (...) {
      runtime_->release(plan_->held_bytes());
      throw;
    }
    device_work_ = std::move(work);
    transfer_ = std::move(transfer);
    if (recorder_.trace() != nullptr) transfer_->keep_copies(recorder_.trace()->events());
  }
  materialised_ = true;
}

/// What batch steps run, in their order; null for those that are the pipeline's own.
std::vector<DeviceWork::Run> LoaderCore::begin_device_work() const {
  const std::vector<BatchStep>& steps = plan_->recipe.batch_steps;
  std::vector<DeviceWork::Run> work(steps.size());
  for (std::size_t s = 0; s < steps.size(); ++s)
    if (steps[s].work) work[s] = steps[s].work->begin(plan_->rows);
  return work;
}

std::shared_ptr<Transfer> LoaderCore::open_device() {
  auto transfer = Transfer::open(plan_->recipe.device,
                                 {.slab_bytes = plan_->layout.delivered_bytes(),
                                  .slot_bytes = plan_->slot_bytes(),
                                  .made = plan_->made,
                                  .slots = plan_->device_slots,
                                  .timed = plan_->options.statistics,
                                  .keeps_slabs = plan_->layout.has_host_only()},
                                 pool_);
  const std::size_t bytes = pool_->bytes();
  const auto pieces = static_cast<int>((bytes + touched_bytes - 1) / touched_bytes);
  runtime_->crew().run_each(pieces, [&](int piece) {
    const std::size_t first = static_cast<std::size_t>(piece) * touched_bytes;
    touch(pool_->memory() + first, std::min(touched_bytes, bytes - first));
  });
  const std::string refusal = transfer->lock_host_memory(pool_->memory(), bytes);
  transfer->returns().connect(
      [](void* core) {
        auto* self = static_cast<LoaderCore*>(core);
        self->graph_->offer(self->returns_node_);
      },
      this);
  if (!refusal.empty() && plan_->options.log) {
    plan_->options.log(LogLevel::warning,
                       who() + std::to_string(bytes) +
                           " bytes of slabs could not be page-locked (" + refusal +
                           "): copies to the device go through the driver's own buffer, slower; "
                           "raise the limit on locked memory (ulimit -l)");
  }
  return transfer;
}

/// A loader without work holds no slabs, but for page-locked ones: locking again costs too much.
/// Unlocks to let go of samples, whose tensors may be somebody else's.
void LoaderCore::rest_if_idle(Lock& lock) {
  if (consuming_ || !runs_.empty() || !materialised_ || transfer_ || waiting_ > 0) return;
  if (consume_sequence_ != admit_sequence_ || on_loan_ + dropped_ != 0) return;
  pool_->discard();
  std::vector<std::vector<Sample>> samples = std::move(resting_);
  const auto rest = [&](Block& block) { samples.emplace_back().swap(block.samples); };
  for (auto& block : blocks_)
    rest(*block);
  for (auto& block : worker_blocks_)
    if (block) rest(*block);
  runtime_->release(plan_->held_bytes());
  materialised_ = false;
  ++dropping_;
  lock.unlock();
  samples.clear();
  lock.lock();
  --dropping_;
  resting_ = std::move(samples);
  if (closed_) changed_.notify_all();
}

int LoaderCore::usable_slabs() const noexcept {
  const double share = runtime_->memory_users().share();
  return static_cast<int>(std::ceil(share * plan_->slabs));
}

std::size_t LoaderCore::usable_sample_bytes() const noexcept {
  const double share = runtime_->memory_users().share();
  if (share >= 1.0) return plan_->sample_bytes;
  return static_cast<std::size_t>(share * static_cast<double>(plan_->sample_bytes));
}

/// Free slabs beyond the share give their pages back. Those of a loader for a device keep theirs,
/// which are page-locked, or are about to be: the device's driver knows them.
void LoaderCore::rest_slabs() noexcept {
  if (plan_->device_slots > 0 || runtime_->memory_users().share() >= 1.0) return;
  const int in_use = plan_->slabs - free_slabs_;
  pool_->rest_beyond(static_cast<std::size_t>(std::max(usable_slabs() - in_use, 0)));
}

void LoaderCore::share_changed() noexcept {
  Lock lock(mutex_);
  if (closed_) return;
  rest_slabs();
  rest_samples(lock);
  admit(lock);
}

/// Blocks on no way let go of their samples. Unlocks for it: a sample's tensors may be somebody
/// else's.
void LoaderCore::rest_samples(Lock& lock) noexcept {
  if (runtime_->memory_users().share() >= 1.0) return;
  for (std::size_t most = blocks_.size(); most > 0; --most) {
    const auto pooled = std::ranges::find_if(
        spare_blocks_, [](const Block* block) { return !block->samples.empty(); });
    if (pooled == spare_blocks_.end()) return;
    std::vector<Sample> samples;
    samples.swap((*pooled)->samples);
    unlocked(lock, [&samples] { samples.clear(); });
  }
}

LoaderHolding LoaderCore::holding() const {
  LoaderHolding holding{.loader = plan_->recipe.name};
  const std::vector<std::int64_t> kept = recorder_.kept();
  for (std::size_t stage = 0; stage < kept.size(); ++stage)
    holding.stages.push_back({.name = recorder_.name(stage), .kept = kept[stage]});
  const std::lock_guard lock(mutex_);
  if (materialised_) holding.bytes = pool_->held_bytes() + reserved_;
  return holding;
}

void LoaderCore::slab_came_back(Slab* slab, bool delivered) noexcept {
  Lock lock(mutex_);
  pool_->give_back(slab);
  --(delivered ? on_loan_ : dropped_);
  ++free_slabs_;
  rest_slabs();
  observe();
  rest_if_idle(lock);
  admit(lock);
}

void LoaderCore::slot_came_back(bool delivered, std::exception_ptr failure) noexcept {
  Lock lock(mutex_);
  --(delivered ? on_loan_ : dropped_);
  if (failure) {
    ++lost_slots_;
    // One that was not delivered has failed its run already, or nobody wanted it.
    if (delivered) failure_ = std::move(failure);
    changed_.notify_all();
  }
  observe();
  if (parked_ > 0 && transfer_->has_free()) unpark(lock, 1);
}

/// A message from the driver's thread: on the crew, so that neither that thread nor the copies
/// behind it wait.
int LoaderCore::run_returns() {
  Lock lock(mutex_);
  take_returned(lock);
  return 0;
}

/// What the device is through with: slabs to be filled again, slots to be copied to.
void LoaderCore::take_returned(Lock& lock) {
  Returnable* next = transfer_->returns().take_all();
  if (next == nullptr) return;
  int slots = 0;
  while (next != nullptr) {
    auto* memory = static_cast<BatchMemory*>(std::exchange(next, next->next_returned));
    if (memory->device.is_cuda()) {
      transfer_->set_free(static_cast<DeviceSlot*>(memory));
      ++slots;
    } else {
      pool_->give_back(static_cast<Slab*>(memory));
      ++free_slabs_;
    }
  }
  observe();
  if (const int permits = std::min(parked_, slots); permits > 0) unpark(lock, permits);
  admit(lock);
}

}  // namespace headrace::inline v1::detail
