#include <headrace/engine/detail/flow.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <headrace/engine/error.h>

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/task_arena.h>

#include <pthread.h>

namespace headrace::inline v1::detail {

namespace tf = tbb::flow;

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

namespace {

/// TBB makes a task for every message and throws where there is no memory for its few hundred
/// bytes. A permit must not be lost, so this waits until there is. Returns whether it had to.
template <class Put>
bool insist(Put put) noexcept {
  constexpr std::chrono::milliseconds longest(100);
  for (std::chrono::milliseconds pause(0);;
       pause = std::min(2 * pause + std::chrono::milliseconds(1), longest)) {
    try {
      put();
      return pause.count() > 0;
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(pause);
    }
  }
}

/// What TBB keeps for a thread is made while nothing hangs on it.
void introduce_thread() {
  static thread_local bool known = false;
  if (!known) tbb::this_task_arena::isolate([] {});
  known = true;
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

  explicit Impl(int slots) : arena(slots, static_cast<unsigned>(slots)) {
    waits.reserve(static_cast<std::size_t>(slots));
    threads.reserve(static_cast<std::size_t>(slots));
  }

  void live(int number) noexcept {
    char name[16];
    std::snprintf(name, sizeof name, "headrace-%d", number);
    pthread_setname_np(pthread_self(), name);
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

Crew::Crew(int threads) : size_(threads), impl_(std::make_unique<Impl>(threads)) {
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

int Crew::slot() noexcept {
  return tbb::this_task_arena::current_thread_index();
}

void Crew::run(const std::function<void()>& work) {
  // Not arena.enqueue(): that entitles the arena to a worker of TBB's, which takes a slot beyond
  // the crew's and bodies with it.
  Impl::Call call{.work = &work};
  {
    std::lock_guard lock(impl_->mutex);
    Impl::Call** last = &impl_->oldest;
    while (*last != nullptr)
      last = &(*last)->next;
    *last = &call;
  }
  insist([this] {
    introduce_thread();
    impl_->inbox->try_put(0);
  });
  call.done.wait_for(1);
  if (call.error) std::rethrow_exception(call.error);
}

void Crew::isolate(const std::function<void()>& work) {
  tbb::this_task_arena::isolate(work);
}

struct FlowGraph::Impl {
  using Node = tf::multifunction_node<int, std::tuple<int>>;

  /// A node. Its limit is kept here and TBB's node has none: one with a limit makes its tasks while
  /// it holds its own lock, and a node that ran out of memory there would never run again.
  struct Stage {
    Body body;
    std::uint64_t limit = 0;  ///< bodies at once; 0: any number
    std::unique_ptr<Node> node;
    std::atomic<bool> published{false};
    std::atomic<std::uint64_t> inside{0};  ///< bodies that run, and above them permits that wait

    static constexpr std::uint64_t one_waiting = std::uint64_t{1} << 32;

    /// False: as many as may are at work, and one of them will use this permit too.
    bool enter() noexcept {
      if (limit == 0) return true;
      std::uint64_t state = inside.load(std::memory_order_relaxed);
      for (;;) {
        const bool free = state % one_waiting < limit;
        if (inside.compare_exchange_weak(state, state + (free ? 1 : one_waiting),
                                         std::memory_order_acq_rel, std::memory_order_relaxed)) {
          return free;
        }
      }
    }
    /// True: a permit waits, and the body runs again.
    bool stays() noexcept {
      if (limit == 0) return false;
      std::uint64_t state = inside.load(std::memory_order_relaxed);
      for (;;) {
        const bool waits = state >= one_waiting;
        if (inside.compare_exchange_weak(state, state - (waits ? one_waiting : 1),
                                         std::memory_order_acq_rel, std::memory_order_relaxed)) {
          return waits;
        }
      }
    }
  };

  /// What TBB copies into its node; everything of ours lies behind the acquire load.
  struct NodeBody {
    Impl* impl;
    Stage* stage;
    void operator()(int, Node::output_ports_type& ports) const noexcept {
      if (!stage->published.load(std::memory_order_acquire)) std::terminate();
      // All that was done before the permit was sent, in an order that ThreadSanitizer sees too.
      static_cast<void>(impl->sent.load(std::memory_order_acquire));
      if (!stage->enter()) return;
      do {
        const int permits = stage->body();
        impl->send(permits, [&] { std::get<0>(ports).try_put(0); });
        impl->ran.fetch_add(1, std::memory_order_release);
        if (impl->closing.load(std::memory_order_acquire)) {
          std::lock_guard lock(impl->mutex);
          impl->idle.notify_all();
        }
      } while (stage->stays());
    }
  };

  template <class Put>
  void send(int permits, Put put) noexcept {
    sent.fetch_add(static_cast<std::uint64_t>(permits), std::memory_order_release);
    for (int i = 0; i < permits; ++i) {
      if (insist(put)) tainted.store(true, std::memory_order_relaxed);
    }
  }

  explicit Impl(Crew& owner) : crew(owner) {}

  Crew& crew;
  std::unique_ptr<tf::graph> graph;
  std::deque<Stage> stages;
  std::atomic<std::uint64_t> sent{0};
  std::atomic<std::uint64_t> ran{0};
  std::atomic<bool> closing{false};
  std::atomic<bool> tainted{false};  ///< TBB's count of tasks may be wrong: it gave up half way
  std::mutex mutex;
  std::condition_variable idle;
};

FlowGraph::FlowGraph(Crew& crew) : impl_(std::make_unique<Impl>(crew)) {
  crew.run([this] { impl_->graph = std::make_unique<tf::graph>(); });
}

FlowGraph::~FlowGraph() {
  impl_->closing.store(true, std::memory_order_release);
  {
    std::unique_lock lock(impl_->mutex);
    while (impl_->ran.load(std::memory_order_acquire) !=
           impl_->sent.load(std::memory_order_acquire)) {
      impl_->idle.wait_for(lock, std::chrono::milliseconds(1));
    }
  }
  if (impl_->tainted.load(std::memory_order_relaxed)) {
    // Every permit was used, but TBB may wait for a task that it never made: its graph is left as
    // it is. This costs memory once in a process that had none.
    static_cast<void>(impl_.release());
    return;
  }
  impl_->crew.run([this] {
    if (!impl_->graph) return;
    impl_->graph->wait_for_all();
    for (auto& stage : impl_->stages)
      stage.node.reset();
    impl_->graph.reset();
  });
}

int FlowGraph::add_node(int limit, Body body) {
  auto& stage = impl_->stages.emplace_back();
  stage.body = std::move(body);
  stage.limit = static_cast<std::uint64_t>(limit);
  impl_->crew.run([&] {
    stage.node = std::make_unique<Impl::Node>(*impl_->graph, tf::unlimited,
                                              Impl::NodeBody{impl_.get(), &stage});
  });
  stage.published.store(true, std::memory_order_release);
  return static_cast<int>(impl_->stages.size()) - 1;
}

void FlowGraph::connect(int from, int to) {
  auto& stages = impl_->stages;
  tf::make_edge(tf::output_port<0>(*stages[static_cast<std::size_t>(from)].node),
                *stages[static_cast<std::size_t>(to)].node);
}

void FlowGraph::put(int node, int permits) noexcept {
  auto& target = *impl_->stages[static_cast<std::size_t>(node)].node;
  impl_->send(permits, [&] {
    introduce_thread();
    target.try_put(0);
  });
}

void FlowGraph::emit(int node, int permits) noexcept {
  auto& port = tf::output_port<0>(*impl_->stages[static_cast<std::size_t>(node)].node);
  impl_->send(permits, [&] {
    introduce_thread();
    port.try_put(0);
  });
}

}  // namespace headrace::inline v1::detail
