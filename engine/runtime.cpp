#include <headrace/engine/runtime.h>

#include <cstdio>
#include <system_error>
#include <utility>

#include <headrace/engine/detail/own_thread.h>
#include <headrace/engine/detail/runtime_core.h>
#include <headrace/engine/error.h>

#include <pthread.h>
#include <unistd.h>

namespace headrace::inline v1 {

namespace detail {

IoPool::IoPool(int threads, const void* owner) : owner_(owner) {
  try {
    threads_.reserve(static_cast<std::size_t>(threads));
    for (int i = 0; i < threads; ++i)
      threads_.emplace_back([this, i] { live(i); });
  } catch (const std::system_error& error) {
    const auto made = std::to_string(threads_.size());
    stop();
    throw ResourceError("[runtime] " + std::to_string(threads) +
                        " I/O threads are needed, the system gave " + made + " (" + error.what() +
                        "); lower Runtime.io_threads");
  } catch (...) {
    stop();
    throw;
  }
}

IoPool::~IoPool() {
  stop();
}

void IoPool::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_)
    thread.join();
  threads_.clear();
}

void IoPool::expect(std::size_t jobs) {
  std::lock_guard lock(mutex_);
  make_room(expected_ + jobs);
  expected_ += jobs;
}

void IoPool::forget(std::size_t jobs) noexcept {
  std::lock_guard lock(mutex_);
  expected_ -= jobs;
}

void IoPool::submit(Job job) {
  {
    std::lock_guard lock(mutex_);
    if (waiting_ == jobs_.size()) make_room(2 * waiting_ + 1);
    jobs_[(first_ + waiting_++) % jobs_.size()] = std::move(job);
  }
  changed_.notify_one();
}

void IoPool::make_room(std::size_t places) {
  if (places <= jobs_.size()) return;
  std::vector<Job> larger(places);
  for (std::size_t i = 0; i < waiting_; ++i)
    larger[i] = std::move(jobs_[(first_ + i) % jobs_.size()]);
  jobs_ = std::move(larger);
  first_ = 0;
}

void IoPool::live(int slot) {
  char name[16];
  std::snprintf(name, sizeof name, "headrace-io-%d", slot);
  pthread_setname_np(pthread_self(), name);
  owner_of_this_thread = owner_;
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || waiting_ > 0; });
      if (waiting_ == 0) return;
      job = std::move(jobs_[first_]);
      first_ = (first_ + 1) % jobs_.size();
      --waiting_;
    }
    job(slot);
  }
}

RuntimeCore::~RuntimeCore() {
  if (!forked()) return;
  // There is nobody to join: what is left of the threads stays.
  static_cast<void>(crew_.release());
  static_cast<void>(io_.release());
}

Crew& RuntimeCore::crew() {
  std::lock_guard lock(mutex_);
  if (!crew_) {
    crew_ = std::make_unique<Crew>(options_.threads, this);
    home_ = ::getpid();
  }
  return *crew_;
}

IoPool& RuntimeCore::io() {
  std::lock_guard lock(mutex_);
  if (!io_) {
    io_ = std::make_unique<IoPool>(options_.io_threads, this);
    home_ = ::getpid();
  }
  return *io_;
}

bool RuntimeCore::forked() const noexcept {
  const pid_t home = home_.load(std::memory_order_relaxed);
  return home != 0 && home != ::getpid();
}

void RuntimeCore::require_usable(const std::string& who) const {
  if (forked()) {
    throw PipelineError(who + " was called in process " + std::to_string(::getpid()) +
                        ", which was forked from process " + std::to_string(home_.load()) +
                        " after its runtime's threads were started: they are not in this one; "
                        "fork before the first epoch, or give the loader a Runtime made here");
  }
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

}  // namespace detail

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
  return core_->in_use();
}

}  // namespace headrace::inline v1
