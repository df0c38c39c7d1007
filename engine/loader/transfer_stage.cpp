// The last stage of a loader's graph: batches leave it in order, on their device where they have
// one.
#include <headrace/engine/loader/detail/block_runner.h>
#include <headrace/engine/loader/detail/loader_core.h>
#include <headrace/engine/stats/internal/trace_range.h>

#include <exception>
#include <optional>
#include <utility>

namespace headrace::inline v1::detail {

/// Lets permits that waited for a slot of the device go on.
void LoaderCore::unpark(Lock& lock, int permits) {
  parked_ -= permits;
  lock.unlock();
  graph_->put(transfer_node_, permits);
  lock.lock();
}

int LoaderCore::run_transfer() {
  Lock lock(mutex_);
  Flight& flight = flight_at(transfer_sequence_);
  const bool wanted = !flight.skipped() && !flight.error;
  DeviceSlot* slot = nullptr;
  if (transfer_ && wanted) {
    slot = transfer_->take();
    if (slot == nullptr) {
      ++parked_;
      return 0;
    }
  }
  gauge_.reordered(now_ns() - flight.done_ns);
  lock.unlock();
  if (wanted) load(flight, slot);
  lock.lock();
  flight.ready = true;
  mark(TraceRing::Kind::ready, flight);
  ++transfer_sequence_;
  observe();
  drop_unwanted(lock);
  // This batch may have needed no slot, or given its own back: the next one tries.
  if (parked_ > 0) unpark(lock, 1);
  const bool wake = waiting_ > 0 || closed_;
  lock.unlock();  // who is woken would only run into the lock
  if (wake) changed_.notify_all();
  return 0;
}

/// Makes the batch, on its device if it goes to one; what fails becomes the batch's error.
void LoaderCore::load(Flight& flight, DeviceSlot* slot) {
  const TraceRange range(plan_->stages[plan_->transfer_stage()].name);
  const bool timed = recorder_.on() || recorder_.trace() != nullptr;
  const std::int64_t begun = timed ? now_ns() : 0;
  std::int64_t in_steps = 0;
  std::size_t stage = plan_->transfer_stage();
  const Activity::Work work(recorder_.activity(Crew::thread()),
                            {.stage = static_cast<std::int64_t>(stage),
                             .epoch = flight.place.epoch,
                             .batch = flight.place.number});
  Slab* kept = nullptr;  // that batch steps read
  try {
    Stream stream;
    std::optional<DeviceScope> device;  // batch operations start kernels
    if (slot != nullptr) device.emplace(slot->device);
    kept = make_loan(flight, slot);
    if (slot != nullptr) stream = transfer_->operations(*slot);
    run_batch_steps(flight, stream, stage, in_steps);
    stage = plan_->transfer_stage();
    if (slot != nullptr) {
      transfer_->finish(*slot);
      flight.loan->finish();
      give_back(flight, *slot, kept);
    }
  } catch (...) {
    Origin origin;
    origin.epoch = flight.place.epoch;
    origin.batch = flight.place.number;
    recorder_.fail(Crew::thread(), stage);
    flight.fail(0, with_stage(plan_->stages[stage].name, origin, std::current_exception()));
    if (slot != nullptr) abandon(flight, *slot, kept);
  }
  if (!timed) return;
  const std::int64_t took = now_ns() - begun;
  put_span(plan_->transfer_stage(), flight, begun, took);
  if (recorder_.on()) recorder_.add(Crew::thread(), plan_->transfer_stage(), 1, took - in_steps);
}

/// The batch as the trainer will have it: the slab itself, or a slot with the slab's copy on its
/// way. Returns the slab where batch steps read it, and it has to be given back behind them.
Slab* LoaderCore::make_loan(Flight& flight, DeviceSlot* slot) {
  Slab* slab = flight.slab.load(std::memory_order_acquire);
  if (slot != nullptr) transfer_->prepare(*slot);
  flight.loan = std::make_shared<Loan>(
      Loan::Context{pool_, plan_->recipe.source, plan_->order, transfer_, link_}, slab, slot,
      flight.place);
  flight.loan->replaced = std::move(flight.replaced);
  // From here on the slab is the loan's, or the copy's.
  flight.slab.store(nullptr, std::memory_order_relaxed);
  flight.slab_gone = true;
  if (slot == nullptr) return nullptr;
  try {
    transfer_->copy(*slot, *slab);
  } catch (...) {
    lose_slab();
    throw;
  }
  return plan_->layout.has_host_only() ? slab : nullptr;
}

void LoaderCore::lose_slab() noexcept {
  const Lock lock(mutex_);
  ++lost_slabs_;
}

/// A slab that was kept for batch steps: all that reads it has been queued.
void LoaderCore::give_back(Flight& flight, const DeviceSlot& slot, Slab*& kept) {
  if (kept == nullptr) return;
  flight.loan->let_go_of_slab();
  Slab& slab = *std::exchange(kept, nullptr);
  try {
    transfer_->give_back(slot, slab);
  } catch (...) {
    lose_slab();
    throw;
  }
}

void LoaderCore::run_batch_steps(Flight& flight, Stream stream, std::size_t& stage,
                                 std::int64_t& in_steps) {
  Batch batch = Loan::batch(flight.loan);
  for (std::size_t s = 0; s < plan_->recipe.batch_steps.size(); ++s) {
    stage = plan_->batch_step_stage(s);
    recorder_.activity(Crew::thread()).enter(stage);
    const TraceRange step(plan_->stages[stage].name);
    const bool timed = recorder_.on() || recorder_.trace() != nullptr;
    const std::int64_t since = timed ? now_ns() : 0;
    const std::int64_t heap = recorder_.heap();
    const BatchStep& made = plan_->recipe.batch_steps[s];
    (made.work ? device_work_[s] : made.run)(batch, stream);
    recorder_.keep(Crew::thread(), stage, heap);
    if (!timed) continue;
    const std::int64_t took = now_ns() - since;
    put_span(stage, flight, since, took);
    in_steps += took;
    if (recorder_.on()) recorder_.add(Crew::thread(), stage, 1, took);
  }
}

/// After a failure on the way to the device: what was queued for the slot may still run, so the
/// next copy must wait for it.
void LoaderCore::abandon(Flight& flight, DeviceSlot& slot, Slab* kept) noexcept {
  if (!flight.loan) return transfer_->set_free(&slot);
  try {
    transfer_->finish(slot);
  } catch (...) {
    transfer_->lose(slot);
    if (kept != nullptr) lose_slab();
    return;
  }
  try {
    give_back(flight, slot, kept);
  } catch (...) {
    return;  // the slab is lost, and counted so; the batch has an error already
  }
}

}  // namespace headrace::inline v1::detail
