#pragma once

#include <headrace/training/memory/tensor_memory.h>

#include <cstdint>
#include <functional>
#include <thread>
#include <utility>

namespace headrace::test {

/// While it lives, tensors of the thread that made it are refused as `refuses` says; those of
/// others, which write checkpoints, never.
class Refusal {
 public:
  explicit Refusal(std::function<bool(std::uint64_t bytes)> refuses) {
    training::count_tensor_memory();
    training::refuse_cpu_tensors(
        [refuses = std::move(refuses), mine = std::this_thread::get_id()](std::uint64_t bytes) {
          return std::this_thread::get_id() == mine && refuses(bytes);
        });
  }
  Refusal(const Refusal&) = delete;
  Refusal& operator=(const Refusal&) = delete;
  ~Refusal() { training::refuse_cpu_tensors({}); }
};

/// Refuses the n-th tensor from now on, counted from 1, and no other.
inline std::function<bool(std::uint64_t)> nth(std::int64_t n) {
  return [n, count = std::int64_t{0}](std::uint64_t) mutable { return ++count == n; };
}

/// Refuses all that are larger.
inline std::function<bool(std::uint64_t)> above(std::uint64_t most) {
  return [most](std::uint64_t bytes) { return bytes > most; };
}

/// Tensors that the work makes in this thread.
inline std::int64_t tensors_made_by(const std::function<void()>& work) {
  std::int64_t count = 0;
  const Refusal counting([&](std::uint64_t) {
    ++count;
    return false;
  });
  work();
  return count;
}

}  // namespace headrace::test
