#include <headrace/loaders/volume/detail/block_memory.h>

#include <algorithm>
#include <bit>
#include <new>

#include <sys/mman.h>

namespace headrace::inline v1::detail {
namespace {

constexpr std::size_t least_mapping = std::size_t{64} << 10;
constexpr std::align_val_t cache_line{64};

// Eight sizes of address space for each power of two; pages that nobody touches take no memory.
std::size_t mapped_for(std::size_t size) {
  if (size < least_mapping) return 0;
  const std::size_t step = std::bit_floor(size) / 8;
  return (size + step - 1) / step * step;
}

}  // namespace

BlockMemory::~BlockMemory() {
  if (bytes_ == nullptr) return;
  if (mapped_ > 0)
    ::munmap(bytes_, mapped_);
  else
    ::operator delete(bytes_, cache_line);
}

BlockStock::~BlockStock() {
  // From the lowest on: a mapping of many blocks then shrinks, and never falls into pieces.
  std::vector<std::pair<std::byte*, std::size_t>> all;
  for (const auto& [mapped, places] : spare_)
    for (std::byte* place : places)
      all.emplace_back(place, mapped);
  std::sort(all.begin(), all.end());
  for (const auto& [place, mapped] : all)
    ::munmap(place, mapped);
}

BlockMemory BlockStock::take(std::size_t size) {
  const std::size_t mapped = mapped_for(size);
  if (mapped == 0) return {static_cast<std::byte*>(::operator new(size, cache_line)), size, 0};
  {
    const std::lock_guard lock(mutex_);
    std::vector<std::byte*>& places = spare_[mapped];
    if (!places.empty()) {
      std::byte* place = places.back();
      places.pop_back();
      return {place, size, mapped};
    }
  }
  void* pages = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  return {static_cast<std::byte*>(pages), size, mapped};
}

void BlockStock::give(BlockMemory memory) noexcept {
  if (memory.mapped_ == 0) return;
  ::madvise(memory.bytes_, memory.mapped_, MADV_DONTNEED);
  try {
    const std::lock_guard lock(mutex_);
    spare_[memory.mapped_].push_back(memory.bytes_);
    memory.bytes_ = nullptr;
  } catch (const std::bad_alloc&) {
    return;  // to the system
  }
}

}  // namespace headrace::inline v1::detail
