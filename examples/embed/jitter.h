#pragma once

#include <headrace/engine/base/random.h>
#include <headrace/engine/sample/sample.h>

#include <string>

namespace embed {

// An augmentation: moves a point a little, the same way on any number of threads.
struct Jitter {
  double sigma = 0.05;

  std::string name() const { return "jitter"; }
  void operator()(headrace::Sample& sample, headrace::Random& random) const {
    for (float& v : sample["point"].values<float>()) {
      v += static_cast<float>(sigma * random.normal());
    }
  }
};

}  // namespace embed
