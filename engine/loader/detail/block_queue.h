#pragma once

#include <headrace/engine/loader/detail/flight.h>

#include <cstddef>
#include <mutex>
#include <vector>

namespace headrace::inline v1::detail {

/// Blocks that wait for a node, oldest first. A message to the node is a permit to take one.
class BlockQueue {
 public:
  /// Makes room: pushing no more blocks than these takes no memory.
  void reserve(std::size_t blocks);
  void push(Block* block);
  Block* pop();

 private:
  std::mutex mutex_;
  std::vector<Block*> heap_;
};

}  // namespace headrace::inline v1::detail
