#include <headrace/engine/runtime/detail/tbb_graph.h>
#include <headrace/engine/runtime/internal/flow_graph.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <tuple>
#include <utility>

namespace headrace::inline v1::detail {

namespace tf = tbb::flow;

struct FlowGraph::Impl {
  using TbbNode = tf::multifunction_node<int, std::tuple<int>>;

  /// A node. Its limit is kept here and TBB's node has none: one with a limit makes its tasks while
  /// it holds its own lock, and a node that ran out of memory there would never run again.
  struct Node {
    Body body;
    std::uint64_t limit = 0;  ///< bodies at once; 0: any number
    std::unique_ptr<TbbNode> tbb;
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
    Node* node;
    void operator()(int, TbbNode::output_ports_type& ports) const noexcept {
      if (!node->published.load(std::memory_order_acquire)) std::terminate();
      // All that was done before the permit was sent, in an order that ThreadSanitizer sees too.
      static_cast<void>(impl->sent.load(std::memory_order_acquire));
      if (!node->enter()) return;
      bool again = false;
      do {
        const int permits = node->body();
        impl->send(permits, [&] { std::get<0>(ports).try_put(0); });
        again = node->stays();
        impl->count_run();
      } while (again);
    }
  };

  template <class Put>
  void send(int permits, Put put) noexcept {
    sent.fetch_add(static_cast<std::uint64_t>(permits), std::memory_order_release);
    for (int i = 0; i < permits; ++i) {
      if (insist(put)) tainted.store(true, std::memory_order_relaxed);
    }
  }

  /// The last that a body does with anything of the graph: once all have been counted it may go.
  void count_run() noexcept {
    if (!closing.load(std::memory_order_acquire)) {
      ran.fetch_add(1, std::memory_order_release);
      return;
    }
    std::lock_guard lock(mutex);
    ran.fetch_add(1, std::memory_order_release);
    idle.notify_all();
  }

  explicit Impl(Crew& owner) : crew(owner) {}

  Crew& crew;
  std::unique_ptr<tf::graph> graph;
  std::deque<Node> nodes;
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
    for (Impl::Node& node : impl_->nodes)
      node.tbb.reset();
    impl_->graph.reset();
  });
}

int FlowGraph::add_node(int limit, Body body) {
  Impl::Node& node = impl_->nodes.emplace_back();
  node.body = std::move(body);
  node.limit = static_cast<std::uint64_t>(limit);
  impl_->crew.run([&] {
    node.tbb = std::make_unique<Impl::TbbNode>(*impl_->graph, tf::unlimited,
                                               Impl::NodeBody{impl_.get(), &node});
  });
  node.published.store(true, std::memory_order_release);
  return static_cast<int>(impl_->nodes.size()) - 1;
}

void FlowGraph::connect(int from, int to) {
  auto& nodes = impl_->nodes;
  tf::make_edge(tf::output_port<0>(*nodes[static_cast<std::size_t>(from)].tbb),
                *nodes[static_cast<std::size_t>(to)].tbb);
}

void FlowGraph::put(int node, int permits) noexcept {
  auto& target = *impl_->nodes[static_cast<std::size_t>(node)].tbb;
  impl_->send(permits, [&] {
    introduce_thread();
    target.try_put(0);
  });
}

bool FlowGraph::offer(int node) noexcept {
  impl_->sent.fetch_add(1, std::memory_order_release);
  try {
    introduce_thread();
    impl_->nodes[static_cast<std::size_t>(node)].tbb->try_put(0);
    return true;
  } catch (const std::bad_alloc&) {
    impl_->tainted.store(true, std::memory_order_relaxed);
    impl_->sent.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
}

void FlowGraph::emit(int node, int permits) noexcept {
  auto& port = tf::output_port<0>(*impl_->nodes[static_cast<std::size_t>(node)].tbb);
  impl_->send(permits, [&] {
    introduce_thread();
    port.try_put(0);
  });
}

}  // namespace headrace::inline v1::detail
