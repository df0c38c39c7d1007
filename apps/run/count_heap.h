#pragma once

// To be included by the one source file of a program that has its main(), and by no library: it
// replaces the C library's allocation functions by ones that add up, thread by thread, and
// otherwise do the same (glibc's manual, "Replacing malloc"). A run that is over its memory limit
// can then name the step that keeps what it takes. Costs a few nanoseconds a call. Does nothing
// under a sanitizer, which replaces them itself.

#include <headrace/apps/run/heap_meter.h>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <malloc.h>

namespace headrace::inline v1::app::detail {

// Of the calling thread; below 0 where it gave back what others took.
inline constinit thread_local std::int64_t heap_of_thread = 0;

inline void* taken(void* memory) noexcept {
  heap_of_thread += static_cast<std::int64_t>(::malloc_usable_size(memory));
  return memory;
}

inline void given_back(void* memory) noexcept {
  heap_of_thread -= static_cast<std::int64_t>(::malloc_usable_size(memory));
}

inline const bool heap_is_counted =
    (set_heap_meter([]() noexcept -> std::int64_t { return heap_of_thread; }), true);

}  // namespace headrace::inline v1::app::detail

extern "C" {

void* __libc_malloc(std::size_t) noexcept;
void* __libc_calloc(std::size_t, std::size_t) noexcept;
void* __libc_realloc(void*, std::size_t) noexcept;
void* __libc_memalign(std::size_t, std::size_t) noexcept;
void __libc_free(void*) noexcept;

void* malloc(std::size_t bytes) noexcept {
  return headrace::app::detail::taken(__libc_malloc(bytes));
}

void* calloc(std::size_t count, std::size_t bytes) noexcept {
  return headrace::app::detail::taken(__libc_calloc(count, bytes));
}

void* realloc(void* memory, std::size_t bytes) noexcept {
  const std::size_t before = ::malloc_usable_size(memory);
  void* const anew = __libc_realloc(memory, bytes);
  if (anew == nullptr && bytes != 0) return anew;  // it could not be had, and is as it was
  headrace::app::detail::heap_of_thread -= static_cast<std::int64_t>(before);
  return headrace::app::detail::taken(anew);
}

void free(void* memory) noexcept {
  headrace::app::detail::given_back(memory);
  __libc_free(memory);
}

void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  return headrace::app::detail::taken(__libc_memalign(alignment, bytes));
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return memalign(alignment, bytes);
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) noexcept {
  const bool power = alignment != 0 && (alignment & (alignment - 1)) == 0;
  if (!power || alignment % sizeof(void*) != 0) return EINVAL;
  void* const anew = memalign(alignment, bytes);
  if (anew == nullptr) return ENOMEM;
  *memory = anew;
  return 0;
}

}  // extern "C"

#endif
