#pragma once

#include <random>

namespace headrace::test {

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  int between(int least, int most) {
    return least + static_cast<int>(engine_() % static_cast<unsigned>(most - least + 1));
  }
  double part() { return engine_() / 4294967296.0; }
  bool one_in(int count) { return between(1, count) == 1; }

 private:
  std::mt19937 engine_;
};

}  // namespace headrace::test
