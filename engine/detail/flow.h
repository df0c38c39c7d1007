#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

namespace headrace::inline v1::detail {

/// Threads of our own, each inside an arena whose slots are all reserved for them, each waiting in
/// a tiny graph of its own: they run every task of the arena, need no worker of TBB's, and sleep
/// when there is none. Works under any `global_control` of the host. No other thread ever blocks in
/// the arena.
class Crew {
 public:
  explicit Crew(int threads);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  int size() const noexcept { return size_; }
  /// Slot of the calling crew thread, below size().
  static int slot() noexcept;
  /// Runs `work` on a crew thread and returns when it is done.
  void run(const std::function<void()>& work);
  /// Runs `work` on the calling crew thread; where it waits inside TBB, the thread takes up nothing
  /// but tasks of this work.
  static void isolate(const std::function<void()>& work);

 private:
  struct Impl;
  int size_;
  std::unique_ptr<Impl> impl_;
};

/// A flow graph in a crew's arena. A message is a permit for a node to run once; what it works on,
/// the node's body takes itself, oldest first. Bodies must not throw.
class FlowGraph {
 public:
  /// Returns how many permits go on to the node's successor.
  using Body = std::function<int()>;

  explicit FlowGraph(Crew& crew);
  /// Waits until every permit has been used, then takes the graph down.
  ~FlowGraph();
  FlowGraph(const FlowGraph&) = delete;
  FlowGraph& operator=(const FlowGraph&) = delete;

  /// `limit` bodies at once; 0: as many as the crew has threads.
  int add_node(int limit, Body body);
  void connect(int from, int to);
  /// Sends permits into a node; any thread. Waits where there is no memory for them.
  void put(int node, int permits) noexcept;
  /// Sends permits out of a node, along its edge; any thread. Waits as put() does.
  void emit(int node, int permits) noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace headrace::inline v1::detail
