#pragma once

// To be included by the one source file of a program that has its main(), and by no library: it
// stands before the C library's allocation functions, or those of an allocator that was loaded
// before all else, and adds up, thread by thread, what they give (glibc's manual, "Replacing
// malloc"). A run that is over its memory limit can then name the step that keeps what it takes.
// Costs a few nanoseconds a call. Does nothing under a sanitizer, which replaces them itself.

#include <headrace/apps/run/heap_meter.h>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>

namespace headrace::inline v1::app::detail {

// Of the calling thread; below 0 where it gave back what others took.
inline constinit thread_local std::int64_t heap_of_thread = 0;

// The functions that stand behind these.
struct HeapFunctions {
  void* (*malloc)(std::size_t) = nullptr;
  void* (*calloc)(std::size_t, std::size_t) = nullptr;
  void* (*realloc)(void*, std::size_t) = nullptr;
  void* (*memalign)(std::size_t, std::size_t) = nullptr;
  void (*free)(void*) = nullptr;
  std::size_t (*usable_size)(void*) = nullptr;
};

// What looking for them takes itself, once, before there is another thread. Never given back.
struct EarlyHeap {
  alignas(64) char bytes[1 << 14] = {};
  std::size_t used = 0;

  void* take(std::size_t count) noexcept {
    const std::size_t first = (used + 63) / 64 * 64;
    if (count > sizeof(bytes) - first) return nullptr;
    used = first + count;
    return bytes + first;
  }
  bool has(const void* memory) const noexcept {
    return memory >= bytes && memory < bytes + sizeof(bytes);
  }
};

inline constinit HeapFunctions heap_functions;
inline constinit EarlyHeap early_heap;
inline constinit std::atomic<bool> heap_is_found{false};
inline constinit thread_local bool finds_heap = false;

template <class Function>
void find(Function*& function, const char* name) noexcept {
  function = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
  if (function == nullptr) std::abort();
}

// False while the calling thread looks for them.
inline bool find_heap() noexcept {
  if (heap_is_found.load(std::memory_order_acquire)) return true;
  if (finds_heap) return false;
  finds_heap = true;
  HeapFunctions found;
  find(found.malloc, "malloc");
  find(found.calloc, "calloc");
  find(found.realloc, "realloc");
  find(found.memalign, "memalign");
  find(found.free, "free");
  find(found.usable_size, "malloc_usable_size");
  heap_functions = found;
  heap_is_found.store(true, std::memory_order_release);
  finds_heap = false;
  return true;
}

inline void* taken(void* memory) noexcept {
  heap_of_thread += static_cast<std::int64_t>(heap_functions.usable_size(memory));
  return memory;
}

inline const bool heap_is_counted =
    (set_heap_meter([]() noexcept -> std::int64_t { return heap_of_thread; }), true);

}  // namespace headrace::inline v1::app::detail

extern "C" {

void* malloc(std::size_t bytes) noexcept {
  using namespace headrace::app::detail;
  return find_heap() ? taken(heap_functions.malloc(bytes)) : early_heap.take(bytes);
}

void* calloc(std::size_t count, std::size_t bytes) noexcept {
  using namespace headrace::app::detail;
  return find_heap() ? taken(heap_functions.calloc(count, bytes)) : early_heap.take(count * bytes);
}

void free(void* memory) noexcept {
  using namespace headrace::app::detail;
  if (memory == nullptr || early_heap.has(memory) || !find_heap()) return;
  heap_of_thread -= static_cast<std::int64_t>(heap_functions.usable_size(memory));
  heap_functions.free(memory);
}

void* realloc(void* memory, std::size_t bytes) noexcept {
  using namespace headrace::app::detail;
  if (memory == nullptr) return malloc(bytes);
  if (early_heap.has(memory) || !find_heap()) {
    void* const anew = malloc(bytes);
    const auto* const first = static_cast<const char*>(memory);
    const auto behind =
        static_cast<std::size_t>(early_heap.bytes + sizeof(early_heap.bytes) - first);
    if (anew != nullptr) std::memcpy(anew, memory, bytes < behind ? bytes : behind);
    return anew;
  }
  const std::size_t before = heap_functions.usable_size(memory);
  void* const anew = heap_functions.realloc(memory, bytes);
  if (anew == nullptr && bytes != 0) return anew;  // it could not be had, and is as it was
  heap_of_thread -= static_cast<std::int64_t>(before);
  return taken(anew);
}

void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  using namespace headrace::app::detail;
  return find_heap() ? taken(heap_functions.memalign(alignment, bytes)) : early_heap.take(bytes);
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
