#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/home_process.h>
#include <headrace/engine/runtime/detail/own_thread.h>
#include <headrace/engine/runtime/detail/tbb_graph.h>
#include <headrace/engine/runtime/internal/crew.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <pthread.h>

namespace headrace::inline v1::detail {

namespace tf = tbb::flow;

namespace {

/// A value that one thread waits for.
class Latch {
 public:
  void raise() {
    std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  void wait_for(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return count_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

std::atomic<HomeProcess> at_home{HomeProcess::none()};  ///< where oneTBB is at work

void require_home() {
  HomeProcess home = HomeProcess::none();
  if (at_home.compare_exchange_strong(home, HomeProcess()) || !home.left()) return;
  throw PipelineError("[runtime] oneTBB, which runs all loaders, was at work in process " +
                      std::to_string(home.id()) +
                      " when this one was forked from it, and does not bear that; fork before the "
                      "process's first epoch of any loader");
}

}  // namespace

struct Crew::Impl {
  /// What run() wants done by a crew thread.
  struct Call {
    const std::function<void()>* work = nullptr;
    Call* next = nullptr;
    Latch done{};
    std::exception_ptr error{};
  };

  Impl(int slots, const void* of) : owner(of), arena(slots, static_cast<unsigned>(slots)) {
    waits.reserve(static_cast<std::size_t>(slots));
    threads.reserve(static_cast<std::size_t>(slots));
  }

  void live(int number) noexcept {
    char name[16];
    std::snprintf(name, sizeof name, "headrace-%d", number);
    pthread_setname_np(pthread_self(), name);
    owner_of_this_thread = owner;
    bool arrived = false;
    try {
      arena.execute([&] { attend(number, arrived); });
    } catch (...) {
      if (arrived) std::terminate();
      {
        std::lock_guard lock(mutex);
        error = std::current_exception();
      }
      opened.raise();
      inside.raise();
    }
  }

  /// The life of a crew thread. The wait begins last: a graph with a wait cannot be taken down.
  void attend(int number, bool& arrived) {
    tf::graph endless;
    std::optional<tf::function_node<int>> door;
    if (number == 0) {
      door.emplace(endless, tf::unlimited, [this](int) { answer(); });
      inbox = &*door;
      opened.raise();
    }
    opened.wait_for(1);
    endless.reserve_wait();
    {
      std::lock_guard lock(mutex);
      waits.push_back(&endless);
    }
    arrived = true;
    inside.raise();
    endless.wait_for_all();
  }

  /// Has a crew thread do the call. Not arena.enqueue(): that entitles the arena to a worker of
  /// TBB's, which takes a slot beyond the crew's and bodies with it.
  void ask(Call& call) noexcept {
    {
      std::lock_guard lock(mutex);
      Call** last = &oldest;
      while (*last != nullptr)
        last = &(*last)->next;
      *last = &call;
    }
    insist([this] {
      introduce_thread();
      inbox->try_put(0);
    });
  }

  /// Does the oldest call.
  void answer() noexcept {
    Call* call = nullptr;
    {
      std::lock_guard lock(mutex);
      call = oldest;
      oldest = call->next;
    }
    try {
      (*call->work)();
    } catch (...) {
      call->error = std::current_exception();
    }
    call->done.raise();
  }

  void stop() {
    {
      std::lock_guard lock(mutex);
      for (tf::graph* wait : waits)
        wait->release_wait();
    }
    for (std::thread& thread : threads)
      thread.join();
  }

  const void* owner;
  tbb::task_arena arena;
  Latch opened;
  Latch inside;
  tf::function_node<int>* inbox = nullptr;  ///< of crew thread 0
  std::mutex mutex;
  Call* oldest = nullptr;  ///< a list, so that asking takes no memory
  std::exception_ptr error;
  std::vector<tf::graph*> waits;
  std::vector<std::thread> threads;
};

Crew::Crew(int threads, const void* owner) : size_(threads) {
  require_home();
  impl_ = std::make_unique<Impl>(threads, owner);
  impl_->arena.initialize();
  const auto abandon = [this] {
    impl_->inside.wait_for(static_cast<int>(impl_->threads.size()));
    impl_->stop();
  };
  try {
    for (int i = 0; i < threads; ++i) {
      impl_->threads.emplace_back([impl = impl_.get(), i] { impl->live(i); });
    }
  } catch (const std::system_error& error) {
    abandon();
    throw ResourceError(
        "[runtime] " + std::to_string(threads) + " worker threads are needed, the system gave " +
        std::to_string(impl_->threads.size()) + " (" + error.what() + "); lower Runtime.threads");
  } catch (...) {
    abandon();
    throw;
  }
  impl_->inside.wait_for(threads);
  if (!impl_->error) return;
  abandon();
  std::rethrow_exception(impl_->error);
}

Crew::~Crew() {
  impl_->stop();
}

int Crew::thread() noexcept {
  return tbb::this_task_arena::current_thread_index();
}

void Crew::run(const std::function<void()>& work) {
  if (owner_of_this_thread == impl_->owner) return work();
  Impl::Call call{.work = &work};
  impl_->ask(call);
  call.done.wait_for(1);
  if (call.error) std::rethrow_exception(call.error);
}

void Crew::run_each(int count, const std::function<void(int)>& work) {
  std::vector<std::function<void()>> parts;
  parts.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    parts.emplace_back([&work, i] { work(i); });
  std::deque<Impl::Call> calls;
  for (const auto& part : parts)
    calls.emplace_back().work = &part;
  for (Impl::Call& call : calls)
    impl_->ask(call);
  for (Impl::Call& call : calls)
    call.done.wait_for(1);
  for (const Impl::Call& call : calls)
    if (call.error) std::rethrow_exception(call.error);
}

void Crew::isolate(const std::function<void()>& work) {
  tbb::this_task_arena::isolate(work);
}

}  // namespace headrace::inline v1::detail
