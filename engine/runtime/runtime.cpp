#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/proc_files.h>
#include <headrace/engine/runtime/internal/runtime_core.h>
#include <headrace/engine/runtime/runtime.h>

#include <string>

namespace headrace::inline v1 {

namespace {

RuntimeOptions resolve(RuntimeOptions options) {
  if (options.threads < 0 || options.io_threads < 0) {
    throw ConfigError("[runtime] threads and io_threads must not be negative, got " +
                      std::to_string(options.threads) + " and " +
                      std::to_string(options.io_threads));
  }
  if (options.threads == 0) options.threads = usable_cores();
  if (options.io_threads == 0) options.io_threads = 4;
  return options;
}

}  // namespace

int usable_cores() {
  return detail::usable_cores("/");
}

Runtime::Runtime(Options options)
    : core_(std::make_shared<detail::RuntimeCore>(resolve(options))) {}

Runtime Runtime::process_default() {
  // Never destroyed: its threads must not outlive what they use during the teardown of the process.
  static auto* runtime = new Runtime();
  return *runtime;
}

int Runtime::threads() const noexcept {
  return core_->options().threads;
}
int Runtime::io_threads() const noexcept {
  return core_->options().io_threads;
}
std::size_t Runtime::memory_limit() const noexcept {
  return core_->options().memory;
}
std::size_t Runtime::memory_in_use() const noexcept {
  if (core_->forked()) return 0;
  return core_->in_use();
}

void Runtime::set_share(double share) {
  core_->require_home("[runtime] set_share()");
  core_->memory_users().set_share(share);
}
double Runtime::share() const noexcept {
  return core_->memory_users().share();
}
void Runtime::set_paused(bool paused) {
  core_->require_home("[runtime] set_paused()");
  core_->memory_users().set_paused(paused);
}
bool Runtime::paused() const noexcept {
  return core_->memory_users().paused();
}
std::vector<LoaderHolding> Runtime::holdings() const {
  core_->require_home("[runtime] holdings()");
  return core_->memory_users().holdings();
}

}  // namespace headrace::inline v1
