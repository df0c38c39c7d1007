// The consumer's side of a loader: delivery in order, errors, batches that nobody wants any more.
#include <headrace/engine/base/bounded_wait.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/loader/detail/loader_core.h>
#include <headrace/engine/loader/detail/waiting_scope.h>

#include <algorithm>
#include <utility>

namespace headrace::inline v1::detail {

NextBatch LoaderCore::next(std::chrono::nanoseconds timeout, std::stop_token stop) {
  runtime_->require_usable(who() + "next()");
  const std::stop_callback wake(stop, [this] {
    { const Lock seen(mutex_); }
    changed_.notify_all();
  });
  Lock lock(mutex_);
  gauge_.call();
  if (!consuming_ && !closed_) begin_default_epoch(lock);
  Deadline deadline;
  if (timeout != std::chrono::nanoseconds::max())
    deadline = std::chrono::steady_clock::now() + bounded_wait(timeout);
  for (;;) {
    drop_unwanted(lock);
    if (closed_) throw PipelineError(who() + "the loader was closed while a batch was asked for");
    if (failure_) end_run(std::exchange(failure_, nullptr), lock);
    if (consuming_->delivered == consuming_->batches) {
      runs_.pop_front();
      consuming_.reset();
      gauge_.end_epoch();
      rest_if_idle(lock);
      return {.status = NextBatch::Status::end, .batch = {}};
    }
    if (front_is_ready()) {
      if (!prepare_front(lock)) continue;
      std::shared_ptr<Loan> loan = take(flight_at(consume_sequence_));
      if (runtime_->memory_users().share() < 1.0) {  // it may be the oldest one's turn
        const WaitingScope waiting(waiting_, changed_, closed_);
        admit(lock);
      }
      return {.status = NextBatch::Status::ready, .batch = Loan::batch(std::move(loan))};
    }
    if (is_exhausted()) refuse_exhausted();
    if (stop.stop_requested()) return {.status = NextBatch::Status::stopped, .batch = {}};
    if (!wait_for_front(lock, deadline, stop))
      return {.status = NextBatch::Status::timeout, .batch = {}};
  }
}

std::optional<Batch> LoaderCore::try_next() {
  NextBatch got = next(std::chrono::nanoseconds::zero(), {});
  if (got.status != NextBatch::Status::ready) return std::nullopt;
  return std::move(got.batch);
}

bool LoaderCore::front_is_ready() {
  return consume_sequence_ < admit_sequence_ && flight_at(consume_sequence_).ready;
}

/// Waits until next() has something to do; false when the time is over. Where batches go to a
/// device, looks once a second whether it still works, and for slabs that nobody was rung for.
bool LoaderCore::wait_for_front(Lock& lock, Deadline deadline, const std::stop_token& stop) {
  const auto something = [&] {
    return closed_ || failure_ || stop.stop_requested() || front_is_ready() || is_exhausted();
  };
  const WaitingScope waiting(waiting_, changed_, closed_);
  if (!transfer_) {
    if (deadline) return changed_.wait_until(lock, *deadline, something);
    changed_.wait(lock, something);
    return true;
  }
  for (;;) {
    const auto look = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    const auto until = deadline ? std::min(look, *deadline) : look;
    if (changed_.wait_until(lock, until, something)) return true;
    if (deadline && until == *deadline) return false;
    transfer_->require_health();
    take_returned(lock);
  }
}

/// Whether no batch can ever answer: that is an error, not a hang.
bool LoaderCore::is_exhausted() const {
  const bool device = plan_->device_slots > 0;
  const int all = device ? plan_->device_slots : plan_->slabs;
  if (lost_slabs_ == plan_->slabs || (device && lost_slots_ == all)) return true;
  if (dropping_ > 0 || on_loan_ + dropped_ + lost_slots_ < all) return false;
  return device || consume_sequence_ == admit_sequence_;
}

void LoaderCore::refuse_exhausted() const {
  const bool device = plan_->device_slots > 0;
  const int all = device ? plan_->device_slots : plan_->slabs;
  if (lost_slabs_ == plan_->slabs || lost_slots_ == all) {
    throw DeviceError(who() + "all " + std::to_string(all) +
                      " batches' memory was lost to failures of " +
                      to_string(plan_->recipe.device) + "; build the loader anew");
  }
  throw PipelineError(who() + "a batch was asked for while all " +
                      std::to_string(on_loan_ + dropped_) +
                      (device ? " slots of the device" : " slabs") +
                      " are on loan; drop or clone batches that are still held, or raise loans "
                      "above " +
                      std::to_string(plan_->options.loans));
}

/// What must be done, unlocked, before the front batch can be taken. False: look again.
bool LoaderCore::prepare_front(Lock& lock) {
  Flight& flight = flight_at(consume_sequence_);
  if (!flight.bad.empty()) {
    settle_bad_samples(flight, lock);
    return false;
  }
  if (flight.error) end_run(std::move(flight.error), lock);
  if (!transfer_ || flight.lent) return true;
  lend(flight, lock);
  return false;
}

/// Has the trainer's stream wait for the batch. What fails leaves the batch where it is.
void LoaderCore::lend(Flight& flight, Lock& lock) {
  const WaitingScope waiting(waiting_, changed_, closed_);
  std::shared_ptr<Loan> loan = flight.loan;
  const Stream stream = stream_;
  lock.unlock();
  std::exception_ptr error;
  try {
    loan->use_on(stream);
  } catch (...) {
    error = std::current_exception();
  }
  const Loan* lent = loan.get();
  loan.reset();  // the last reference, where the loader was closed meanwhile
  lock.lock();
  if (error) std::rethrow_exception(error);
  if (front_is_ready() && flight.loan.get() == lent) flight.lent = true;
}

/// Counts and writes down the batch's bad samples; where a budget is used up, that is its error.
void LoaderCore::settle_bad_samples(Flight& flight, Lock& lock) {
  const WaitingScope waiting(waiting_, changed_, closed_);
  std::vector<BadSampleLog::Case> cases = std::move(flight.bad);
  flight.bad.clear();
  const std::shared_ptr<EpochRun> run = consuming_;
  lock.unlock();
  std::ranges::stable_sort(cases, {}, [](const auto& bad) { return bad.origin.row; });
  BadSampleLog::Verdict verdict;
  std::exception_ptr error;
  try {
    verdict = bad_samples_.add(cases, run->bad, plan_->epoch_samples);
    if (!verdict.text.empty()) error = std::make_exception_ptr(PipelineError(verdict.text));
  } catch (...) {
    verdict.row = 0;
    error = std::current_exception();
  }
  lock.lock();
  if (!error || !front_is_ready() || flight.run != run || verdict.row > flight.error_row) return;
  std::swap(flight.error, error);
  lock.unlock();
  error = nullptr;
  lock.lock();
}

/// Takes the front batch out of the ring: it is the trainer's now.
std::shared_ptr<Loan> LoaderCore::take(Flight& flight) {
  std::shared_ptr<Loan> loan = std::move(flight.loan);
  loan->deliver();
  ++consume_sequence_;
  ++on_loan_;
  ++consuming_->delivered;
  position_.position = flight.place.after;
  std::int64_t bytes = 0;
  for (const auto& column : plan_->layout.columns()) {
    if (!column.host_only) bytes += static_cast<std::int64_t>(column.row_bytes) * flight.place.size;
  }
  mark(TraceRing::Kind::delivered, flight, gauge_.deliver(flight.place.rows, bytes));
  observe();
  flight.run.reset();
  return loan;
}

/// Ends the run that is being consumed with an error.
void LoaderCore::end_run(std::exception_ptr error, Lock& lock) {
  leave_all_runs();
  consuming_.reset();
  gauge_.end_epoch();
  drop_unwanted(lock);
  lock.unlock();
  std::rethrow_exception(std::move(error));
}

/// Batches of runs that were left go home as they reach the front. Unlocks while it lets go of
/// them: what dies with a batch may be somebody else's, and call the loader.
void LoaderCore::drop_unwanted(Lock& lock) {
  if (parked_ > 0 && flight_at(transfer_sequence_).skipped()) unpark(lock, parked_);
  bool dropped = false;
  while (consume_sequence_ < transfer_sequence_) {
    Flight& flight = flight_at(consume_sequence_);
    if (!flight.ready || !flight.run->left.load(std::memory_order_relaxed)) break;
    drop(flight, lock);
    dropped = true;
  }
  if (!dropped) return;
  if (closed_) changed_.notify_all();
  rest_if_idle(lock);
  admit(lock);
}

/// Takes the front batch out of the ring unseen.
void LoaderCore::drop(Flight& flight, Lock& lock) {
  std::shared_ptr<Loan> loan = std::move(flight.loan);
  std::exception_ptr error = std::move(flight.error);
  flight.bad.clear();
  mark(TraceRing::Kind::dropped, flight);
  flight.run.reset();
  Slab* slab = flight.slab.exchange(nullptr, std::memory_order_relaxed);
  if (slab != nullptr) pool_->give_back(slab);
  if (!flight.slab_gone) ++free_slabs_;
  if (loan) ++dropped_;
  ++consume_sequence_;
  if (!loan && !error) return;
  ++dropping_;
  lock.unlock();
  loan.reset();
  error = nullptr;
  lock.lock();
  --dropping_;
}

/// Tells the gauge what holds from now on.
void LoaderCore::observe() {
  gauge_.change(static_cast<int>(transfer_sequence_ - consume_sequence_),
                free_slabs_ == 0 && transfer_sequence_ == admit_sequence_);
  mark_counts();
}

}  // namespace headrace::inline v1::detail
