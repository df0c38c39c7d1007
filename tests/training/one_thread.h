#pragma once

#include <ATen/Parallel.h>

namespace headrace::training {

/// LibTorch's threads, for as long as it lives.
struct TorchThreads {
  explicit TorchThreads(int count) : before(at::get_num_threads()) { at::set_num_threads(count); }
  ~TorchThreads() { at::set_num_threads(before); }
  TorchThreads(const TorchThreads&) = delete;
  TorchThreads& operator=(const TorchThreads&) = delete;
  int before;
};

struct OneThread : TorchThreads {
  OneThread() : TorchThreads(1) {}
};

}  // namespace headrace::training
