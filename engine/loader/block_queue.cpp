#include <headrace/engine/loader/detail/block_queue.h>

#include <algorithm>

namespace headrace::inline v1::detail {

namespace {

/// Order of a heap whose top is the oldest block.
bool younger(const Block* a, const Block* b) {
  return a->ticket > b->ticket;
}

}  // namespace

void BlockQueue::reserve(std::size_t blocks) {
  std::lock_guard lock(mutex_);
  heap_.reserve(blocks);
}

void BlockQueue::push(Block* block) {
  std::lock_guard lock(mutex_);
  heap_.push_back(block);
  std::push_heap(heap_.begin(), heap_.end(), younger);
}

Block* BlockQueue::pop() {
  std::lock_guard lock(mutex_);
  std::pop_heap(heap_.begin(), heap_.end(), younger);
  Block* block = heap_.back();
  heap_.pop_back();
  return block;
}

}  // namespace headrace::inline v1::detail
