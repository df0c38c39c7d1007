#pragma once

#include <headrace/engine/runtime/internal/crew.h>

#include <functional>
#include <memory>

namespace headrace::inline v1::detail {

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
  /// put() of one permit for a thread that must not wait: false where there is no memory for it.
  bool offer(int node) noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace headrace::inline v1::detail
