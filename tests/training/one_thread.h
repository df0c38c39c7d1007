#pragma once

#include <ATen/Parallel.h>

namespace headrace::training {

struct OneThread {
  OneThread() : before(at::get_num_threads()) { at::set_num_threads(1); }
  ~OneThread() { at::set_num_threads(before); }
  int before;
};

}  // namespace headrace::training
