#pragma once

#include <chrono>
#include <thread>

namespace headrace::test {

/// Waits until the condition holds, at most a minute.
template <class Condition>
bool eventually(const Condition& holds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!holds() && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return holds();
}

}  // namespace headrace::test
