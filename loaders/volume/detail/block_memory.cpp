#include <headrace/loaders/volume/detail/block_shard.h>

#include <new>

#include <sys/mman.h>

namespace headrace::inline v1::detail {
namespace {

constexpr std::size_t least_mapping = std::size_t{64} << 10;
constexpr std::align_val_t cache_line{64};

bool is_mapped(std::size_t size) noexcept {
  return size >= least_mapping;
}

std::byte* take(std::size_t size) {
  if (!is_mapped(size)) return static_cast<std::byte*>(::operator new(size, cache_line));
  void* pages = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(pages);
}

void give_back(std::byte* bytes, std::size_t size) noexcept {
  if (bytes == nullptr) return;
  if (is_mapped(size))
    ::munmap(bytes, size);
  else
    ::operator delete(bytes, cache_line);
}

}  // namespace

BlockMemory::BlockMemory(std::size_t size) : bytes_(take(size)), size_(size) {}

BlockMemory::~BlockMemory() {
  give_back(bytes_, size_);
}

void BlockMemory::resize(std::size_t size) {
  if (bytes_ == nullptr || !is_mapped(size_) || !is_mapped(size)) {
    *this = BlockMemory();
    *this = BlockMemory(size);
    return;
  }
  void* pages = ::mremap(bytes_, size_, size, MREMAP_MAYMOVE);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  bytes_ = static_cast<std::byte*>(pages);
  size_ = size;
}

}  // namespace headrace::inline v1::detail
