#include "fiber.h"

#include <cstdint>
#include <new>

#include <sys/mman.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace headrace::test::kernels {
namespace {

constexpr std::size_t guard_bytes = 4096;
constexpr std::size_t stack_bytes = 128 * 1024;

}  // namespace

Fiber::Fiber() {
  memory_ = ::mmap(nullptr, guard_bytes + stack_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory_ == MAP_FAILED || ::mprotect(memory_, guard_bytes, PROT_NONE) != 0)
    throw std::bad_alloc();
  ::getcontext(&own_);
  own_.uc_stack.ss_sp = static_cast<std::byte*>(memory_) + guard_bytes;
  own_.uc_stack.ss_size = stack_bytes;
  own_.uc_link = nullptr;
  const auto bits = reinterpret_cast<std::uintptr_t>(this);
  ::makecontext(&own_, reinterpret_cast<void (*)()>(&Fiber::enter), 2, static_cast<unsigned>(bits),
                static_cast<unsigned>(bits >> 32));
}

Fiber::~Fiber() {
  ::munmap(memory_, guard_bytes + stack_bytes);
}

void Fiber::begin(const std::function<void()>& body) {
  body_ = &body;
}

void Fiber::resume() {
  switch_over(true);
}

void Fiber::suspend() {
  switch_over(false);
}

void Fiber::enter(unsigned low, unsigned high) {
  reinterpret_cast<Fiber*>(std::uintptr_t{high} << 32 | low)->live();
}

void Fiber::live() {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(nullptr, &back_stack_, &back_bytes_);
#endif
  for (;;) {
    (*body_)();
    body_ = nullptr;
    suspend();
  }
}

#ifdef __SANITIZE_ADDRESS__
void Fiber::switch_over(bool inwards) {
  void*& kept = inwards ? fake_back_ : fake_own_;
  const void* stack = inwards ? own_.uc_stack.ss_sp : back_stack_;
  __sanitizer_start_switch_fiber(&kept, stack, inwards ? stack_bytes : back_bytes_);
  ::swapcontext(inwards ? &back_ : &own_, inwards ? &own_ : &back_);
  // On the fiber it tells whose stack it left, which may be another thread's than before.
  __sanitizer_finish_switch_fiber(kept, inwards ? nullptr : &back_stack_,
                                  inwards ? nullptr : &back_bytes_);
}
#else
// A jump, where swapcontext would ask the kernel for the signal mask at every one.
void Fiber::switch_over(bool inwards) {
  if (::_setjmp(inwards ? back_place_ : own_place_) != 0) return;
  if (inwards && !entered_) {
    entered_ = true;
    ::setcontext(&own_);
  }
  ::_longjmp(inwards ? own_place_ : back_place_, 1);
}
#endif

}  // namespace headrace::test::kernels
