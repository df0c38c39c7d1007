#pragma once

#include <atomic>

namespace headrace::inline v1::detail {

class Returns;

/// What can come back through Returns; links itself.
struct Returnable {
  Returns* returns = nullptr;
  Returnable* next_returned = nullptr;
};

/// Memory that the device is through with: a Treiber stack that is taken as a whole. A thread of
/// the driver, which may neither wait nor call CUDA, only pushes it here and rings; the loader's
/// own threads take it from here.
class Returns {
 public:
  using Ring = void (*)(void* owner);

  /// Any thread; takes no lock.
  void push(Returnable* memory) noexcept {
    Returnable* top = top_.load(std::memory_order_relaxed);
    do {
      memory->next_returned = top;
    } while (!top_.compare_exchange_weak(top, memory, std::memory_order_release,
                                         std::memory_order_relaxed));
    ringing_.fetch_add(1);
    if (void* owner = owner_.load(); owner != nullptr) ring_(owner);
    ringing_.fetch_sub(1);
  }
  /// For call_when_reached().
  static void push_this(void* memory) noexcept {
    auto* returned = static_cast<Returnable*>(memory);
    returned->returns->push(returned);
  }

  /// All that has come, linked, the last one first.
  Returnable* take_all() noexcept { return top_.exchange(nullptr, std::memory_order_acquire); }

  /// Whom to ring from now on.
  void connect(Ring ring, void* owner) noexcept {
    ring_ = ring;
    owner_.store(owner);
  }
  /// Once this returns nobody is rung.
  void disconnect() noexcept {
    owner_.store(nullptr);
    while (ringing_.load() != 0) {
    }
  }

 private:
  std::atomic<Returnable*> top_{nullptr};
  Ring ring_ = nullptr;
  std::atomic<void*> owner_{nullptr};
  std::atomic<int> ringing_{0};
};

}  // namespace headrace::inline v1::detail
