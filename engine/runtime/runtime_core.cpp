#include <headrace/engine/base/error.h>
#include <headrace/engine/runtime/detail/own_thread.h>
#include <headrace/engine/runtime/internal/runtime_core.h>

#include <unistd.h>

namespace headrace::inline v1::detail {

RuntimeCore::~RuntimeCore() {
  if (!forked()) return;
  // There is nobody to join: what is left of the threads stays.
  static_cast<void>(crew_.release());
  static_cast<void>(io_.release());
}

Crew& RuntimeCore::crew() {
  std::lock_guard lock(mutex_);
  if (!crew_) crew_ = std::make_unique<Crew>(options_.threads, this);
  return *crew_;
}

IoPool& RuntimeCore::io() {
  std::lock_guard lock(mutex_);
  if (!io_) io_ = std::make_unique<IoPool>(options_.io_threads, this);
  return *io_;
}

void RuntimeCore::require_home(const std::string& who) const {
  if (forked()) {
    throw PipelineError(who + " was called in process " + std::to_string(::getpid()) +
                        ", which was forked from process " + std::to_string(home_.load().id()) +
                        " after its runtime's threads were started: they are not in this one; "
                        "fork before the process's first epoch");
  }
}

void RuntimeCore::require_usable(const std::string& who) {
  HomeProcess home = HomeProcess::none();
  home_.compare_exchange_strong(home, HomeProcess());  // before any lock is taken
  require_home(who);
  if (owner_of_this_thread == this) {
    throw PipelineError(who +
                        " was called by a source or step on a thread of the loader's own "
                        "runtime, which would wait for itself; give this loader a Runtime of its "
                        "own");
  }
}

void RuntimeCore::acquire(std::size_t bytes, const std::string& who) {
  std::lock_guard lock(mutex_);
  if (options_.memory != 0 && in_use_ + bytes > options_.memory) {
    throw ResourceError("[runtime] " + who + " needs " + std::to_string(bytes) + " bytes beside " +
                        std::to_string(in_use_) + " in use, the runtime's limit is " +
                        std::to_string(options_.memory) +
                        "; raise Runtime.memory, or lower the batch size or prefetch");
  }
  in_use_ += bytes;
}

void RuntimeCore::release(std::size_t bytes) noexcept {
  std::lock_guard lock(mutex_);
  in_use_ -= bytes;
}

std::size_t RuntimeCore::in_use() const {
  std::lock_guard lock(mutex_);
  return in_use_;
}

}  // namespace headrace::inline v1::detail
