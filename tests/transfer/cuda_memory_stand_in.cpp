// The stand-in's form of the CUDA runtime: memory and copies.
#include "stand_in_state.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

using namespace headrace::test::device;

namespace {

/// Bytes behind an allocation that nobody may write; AddressSanitizer has its own.
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t guard_bytes = 0;
#else
constexpr std::size_t guard_bytes = 64;
#endif
constexpr char guard = '\xA7';

void require_guard(const void* memory, std::size_t bytes) {
  const auto* behind = static_cast<const char*>(memory) + bytes;
  for (std::size_t i = 0; i < guard_bytes; ++i) {
    if (behind[i] == guard) continue;
    std::fprintf(stderr, "[stand-in] device memory was written beyond its end\n");
    std::abort();
  }
}

/// Copies rows some time after the stream came here; a source that changes meanwhile is noted.
struct Copy {
  void* to;
  std::size_t to_pitch;
  const void* from;
  std::size_t from_pitch;
  std::size_t row;
  std::size_t rows;
  int delay_us = 0;

  void run() const {
    std::vector<char> before(row * rows);
    gather(before.data(), row);
    std::this_thread::sleep_for(std::chrono::microseconds(delay_us));
    gather(static_cast<char*>(to), to_pitch);
    bool torn = false;
    for (std::size_t y = 0; y < rows && !torn; ++y)
      torn = std::memcmp(before.data() + row * y, static_cast<char*>(to) + to_pitch * y, row) != 0;
    std::lock_guard lock(state().mutex);
    ++state().counts.copies_done;
    if (torn) ++state().counts.torn_copies;
  }
  void gather(char* into, std::size_t pitch) const {
    for (std::size_t y = 0; y < rows; ++y)
      std::memcpy(into + pitch * y, static_cast<const char*>(from) + from_pitch * y, row);
  }
};

cudaError_t start(Copy copy, cudaStream_t stream) {
  State& s = state();
  {
    std::lock_guard lock(s.mutex);
    if (s.counts.copies++ == s.behaviour.fail_copy) s.failed = true;
  }
  if (s.failed) return answer(cudaErrorLaunchFailure);
  copy.delay_us = copy_delay();
  queue_of(stream).push([copy] { copy.run(); });
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* all) {
  if (const cudaError_t status = enter("cudaMemGetInfo"); status != cudaSuccess) return status;
  use_current_device();
  std::lock_guard lock(state().mutex);
  *free = *all = state().behaviour.free_bytes;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  if (const cudaError_t status = enter_unsafe("cudaMalloc"); status != cudaSuccess) return status;
  use_current_device();
  if (bytes > (std::size_t{1} << 40)) return answer(cudaErrorMemoryAllocation);
  *memory = ::operator new(bytes + guard_bytes, std::align_val_t(256));
  std::memset(*memory, 0xEE, bytes);
  std::memset(static_cast<char*>(*memory) + bytes, guard, guard_bytes);
  State& s = state();
  std::lock_guard lock(s.mutex);
  s.allocations[*memory] = bytes;
  ++s.counts.allocations;
  ++s.counts.live_allocations;
  return cudaSuccess;
}

cudaError_t cudaFree(void* memory) {
  if (const cudaError_t status = enter_unsafe("cudaFree"); status != cudaSuccess) return status;
  use_current_device();
  if (memory == nullptr) return cudaSuccess;
  State& s = state();
  {
    std::lock_guard lock(s.mutex);
    const std::size_t bytes = s.allocations.at(memory);
    require_guard(memory, bytes);
    std::memset(memory, 0xDD, bytes);
    s.allocations.erase(memory);
    --s.counts.live_allocations;
  }
  ::operator delete(memory, std::align_val_t(256));
  return cudaSuccess;
}

cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned) {
  if (const cudaError_t status = enter_unsafe("cudaHostRegister"); status != cudaSuccess)
    return status;
  use_current_device();
  State& s = state();
  std::function<void()> watch;
  {
    std::lock_guard lock(s.mutex);
    watch = s.behaviour.on_page_lock;
  }
  if (watch) watch();
  std::lock_guard lock(s.mutex);
  if (s.behaviour.refuse_page_locks) return answer(cudaErrorMemoryAllocation);
  s.page_locked[memory] = bytes;
  ++s.counts.page_locks;
  return cudaSuccess;
}

cudaError_t cudaHostUnregister(void* memory) {
  if (const cudaError_t status = enter_unsafe("cudaHostUnregister"); status != cudaSuccess)
    return status;
  use_current_device();
  std::lock_guard lock(state().mutex);
  state().page_locked.erase(memory);
  --state().counts.page_locks;
  return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t row, std::size_t rows,
                              cudaMemcpyKind, cudaStream_t stream) {
  if (const cudaError_t status = enter_working("cudaMemcpy2DAsync"); status != cudaSuccess)
    return status;
  use_current_device();
  return start({to, to_pitch, from, from_pitch, row, rows}, stream);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (const cudaError_t status = enter_working("cudaMemcpyAsync"); status != cudaSuccess)
    return status;
  use_current_device();
  const bool staged = kind == cudaMemcpyHostToDevice && !is_page_locked(from, bytes);
  // The driver stages pageable memory when the stream has come here, and the caller waits for it.
  if (staged) queue_of(stream).finish();
  const cudaError_t status = start({to, bytes, from, bytes, bytes, 1}, stream);
  if (staged) queue_of(stream).finish();
  return status;
}

}  // extern "C"
