// Memory of a loader: taken with its first epoch, given back while it has no work.
#include <utility>

#include <headrace/engine/detail/loader_core.h>

namespace headrace::inline v1::detail {

void LoaderCore::materialise() {
  if (materialised_) return;
  runtime_->acquire(plan_->held_bytes(), "loader \"" + plan_->recipe.name + "\"");
  try {
    if (plan_->device_slots > 0 && !transfer_) open_device();
  } catch (...) {
    runtime_->release(plan_->held_bytes());
    throw;
  }
  materialised_ = true;
}

void LoaderCore::open_device() {
  auto transfer = std::make_shared<Transfer>(plan_->recipe.device,
                                             Transfer::Sizes{.slab_bytes = plan_->layout.bytes(),
                                                             .made_bytes = plan_->made_bytes,
                                                             .slots = plan_->device_slots,
                                                             .timed = plan_->options.statistics});
  const std::string refusal = transfer->lock_host_memory(pool_->memory(), pool_->bytes());
  transfer_ = std::move(transfer);
  if (refusal.empty() || !plan_->options.log) return;
  plan_->options.log(LogLevel::warning,
                     "[" + plan_->recipe.name + "] " + std::to_string(pool_->bytes()) +
                         " bytes of slabs could not be page-locked (" + refusal +
                         "): copies to the device go through the driver's own buffer, slower; "
                         "raise the limit on locked memory (ulimit -l)");
}

/// A loader without work holds no slabs, but for page-locked ones: locking again costs too much.
void LoaderCore::rest_if_idle() {
  if (consuming_ || !runs_.empty() || !materialised_ || transfer_) return;
  if (consume_sequence_ != admit_sequence_ || on_loan_ != 0) return;
  pool_->discard();
  for (auto& block : blocks_)
    block->samples.clear();
  for (auto& block : worker_blocks_)
    if (block) block->samples.clear();
  runtime_->release(plan_->held_bytes());
  materialised_ = false;
}

}  // namespace headrace::inline v1::detail
