#pragma once

#include <headrace/engine/torch/device_event.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <thread>

#include <c10/core/Event.h>

namespace headrace::inline v1::training::detail {

// Keeps the host from running far ahead of a GPU. Without it the host would fill all slabs with
// batches that the GPU comes to much later, then wait for a slab in next(), and time in which the
// GPU computes would count as a wait for data.
class StepPace {
 public:
  explicit StepPace(at::Device device) : device_(device) {}

  // The work of a micro-batch has been queued: waits until the device is at most two behind. Not of
  // a step: the micro-batches of two may be more than there are slabs.
  void batch() {
    if (!device_.is_cuda()) return;
    batches_.push_back(event_behind(device_));
    if (batches_.size() > ahead) finish_first();
  }

  // Waits for all of them.
  void finish() {
    while (!batches_.empty())
      finish_first();
  }

 private:
  static constexpr std::size_t ahead = 2;

  // Asks now and then: synchronize() would keep a core busy that the loader's workers need.
  void finish_first() {
    while (!batches_.front().query())
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    batches_.pop_front();
  }

  at::Device device_;
  std::deque<c10::Event> batches_;
};

}  // namespace headrace::inline v1::training::detail
