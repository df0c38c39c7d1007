#include <headrace/engine/detail/flow.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
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

struct Crew::Impl {
  /// What run() wants done by a crew thread.
  struct Call {
    const std::function<void()>* work = nullptr;
    Latch done{};
    std::exception_ptr error{};
  };

  explicit Impl(int slots) : arena(slots, static_cast<unsigned>(slots)) {}

  void live(int number) {
    pthread_setname_np(pthread_self(), ("headrace-" + std::to_string(number)).c_str());
    arena.execute([&] {
      tf::graph endless;
      endless.reserve_wait();
      std::optional<tf::function_node<int>> door;
      if (number == 0) {
        door.emplace(endless, tf::unlimited, [this](int) { answer(); });
        inbox = &*door;
        opened.raise();
      }
      opened.wait_for(1);
      {
        std::lock_guard lock(mutex);
        waits.push_back(&endless);
      }
      inside.raise();
      endless.wait_for_all();
    });
  }

  /// Does the oldest call.
  void answer() noexcept {
    Call* call = nullptr;
    {
      std::lock_guard lock(mutex);
      call = calls.front();
      calls.pop_front();
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
  std::deque<Call*> calls;
  std::vector<tf::graph*> waits;
  std::vector<std::thread> threads;
};

Crew::Crew(int threads) : size_(threads), impl_(std::make_unique<Impl>(threads)) {
  impl_->arena.initialize();
  try {
    for (int i = 0; i < threads; ++i) {
      impl_->threads.emplace_back([impl = impl_.get(), i] { impl->live(i); });
    }
  } catch (const std::system_error& error) {
    impl_->inside.wait_for(static_cast<int>(impl_->threads.size()));
    impl_->stop();
    throw ResourceError(
        "[runtime] " + std::to_string(threads) + " worker threads are needed, the system gave " +
        std::to_string(impl_->threads.size()) + " (" + error.what() + "); lower Runtime.threads");
  }
  impl_->inside.wait_for(threads);
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
    impl_->calls.push_back(&call);
  }
  impl_->inbox->try_put(0);
  call.done.wait_for(1);
  if (call.error) std::rethrow_exception(call.error);
}

struct FlowGraph::Impl {
  using Node = tf::multifunction_node<int, std::tuple<int>>;

  struct Stage {
    Body body;
    std::unique_ptr<Node> node;
    std::atomic<bool> published{false};
  };

  /// What TBB copies into its node; everything of ours lies behind the acquire load.
  struct NodeBody {
    Impl* impl;
    Stage* stage;
    void operator()(int, Node::output_ports_type& ports) const noexcept {
      if (!stage->published.load(std::memory_order_acquire)) std::terminate();
      const int permits = stage->body();
      impl->send(permits, [&] { std::get<0>(ports).try_put(0); });
      impl->ran.fetch_add(1, std::memory_order_release);
      if (impl->closing.load(std::memory_order_acquire)) {
        std::lock_guard lock(impl->mutex);
        impl->idle.notify_all();
      }
    }
  };

  template <class Put>
  void send(int permits, Put put) {
    sent.fetch_add(static_cast<std::uint64_t>(permits), std::memory_order_relaxed);
    for (int i = 0; i < permits; ++i)
      put();
  }

  explicit Impl(Crew& owner) : crew(owner) {}

  Crew& crew;
  std::unique_ptr<tf::graph> graph;
  std::deque<Stage> stages;
  std::atomic<std::uint64_t> sent{0};
  std::atomic<std::uint64_t> ran{0};
  std::atomic<bool> closing{false};
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
  impl_->crew.run([this] {
    impl_->graph->wait_for_all();
    for (auto& stage : impl_->stages)
      stage.node.reset();
    impl_->graph.reset();
  });
}

int FlowGraph::add_node(int limit, Body body) {
  auto& stage = impl_->stages.emplace_back();
  stage.body = std::move(body);
  impl_->crew.run([&] {
    const std::size_t concurrency =
        limit == 0 ? std::size_t{tf::unlimited} : static_cast<std::size_t>(limit);
    stage.node = std::make_unique<Impl::Node>(*impl_->graph, concurrency,
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

void FlowGraph::put(int node, int permits) {
  auto& target = *impl_->stages[static_cast<std::size_t>(node)].node;
  impl_->send(permits, [&] { target.try_put(0); });
}

void FlowGraph::emit(int node, int permits) {
  auto& port = tf::output_port<0>(*impl_->stages[static_cast<std::size_t>(node)].node);
  impl_->send(permits, [&] { port.try_put(0); });
}

}  // namespace headrace::inline v1::detail
