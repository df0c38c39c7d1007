#pragma once

#include <cstddef>
#include <functional>

#include <setjmp.h>

#include <ucontext.h>

namespace headrace::test::kernels {

/// A stack of its own that runs one body after another, in the thread that resumes it.
/// AddressSanitizer is told of every switch.
class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// What the next resume() begins; the last one has ended. Outlives it.
  void begin(const std::function<void()>& body);
  /// Runs until suspend() or the end of the body.
  void resume();
  /// Back to who resumed it; called on the fiber.
  void suspend();
  bool ended() const noexcept { return body_ == nullptr; }

 private:
  static void enter(unsigned low, unsigned high);
  void live();
  void switch_over(bool inwards);

  const std::function<void()>* body_ = nullptr;
  void* memory_ = nullptr;  ///< a page that may not be touched, then the stack
  ucontext_t own_{};
  ucontext_t back_{};
  jmp_buf own_place_{};
  jmp_buf back_place_{};
  bool entered_ = false;
  void* fake_own_ = nullptr;  ///< what AddressSanitizer keeps for either side
  void* fake_back_ = nullptr;
  const void* back_stack_ = nullptr;
  std::size_t back_bytes_ = 0;
};

}  // namespace headrace::test::kernels
