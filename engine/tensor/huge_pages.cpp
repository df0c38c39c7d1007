#include <headrace/engine/base/error.h>
#include <headrace/engine/tensor/huge_pages.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

namespace headrace::inline v1 {
namespace {

std::size_t page_size() noexcept {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

std::byte* map_aligned(std::size_t bytes) {
  constexpr std::size_t align = HugePages::huge_page;
  const std::size_t slack = bytes >= align ? align : 0;
  void* mapped = MAP_FAILED;
  if (bytes <= std::numeric_limits<std::size_t>::max() / 2) {
    mapped =
        ::mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  if (mapped == MAP_FAILED) {
    throw ResourceError("[memory] " + std::to_string(bytes) + " bytes could not be mapped (" +
                        std::strerror(errno) +
                        "); lower the batch size, prefetch or what is kept in memory");
  }
  auto* first = static_cast<std::byte*>(mapped);
  if (slack == 0) return first;
  const std::size_t head = (align - reinterpret_cast<std::uintptr_t>(first) % align) % align;
  if (head > 0) ::munmap(first, head);
  if (slack > head) ::munmap(first + head + bytes, slack - head);
  ::madvise(first + head, bytes, MADV_HUGEPAGE);
  return first + head;
}

}  // namespace

HugePages::HugePages(std::size_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  const std::size_t mapped = mapped_bytes(bytes);
  memory_ = {map_aligned(mapped), detail::Unmap{mapped}};
}

void HugePages::discard() noexcept {
  if (memory_ != nullptr) ::madvise(data(), mapped_bytes(), MADV_DONTNEED);
}

void HugePages::discard(std::size_t first, std::size_t bytes) noexcept {
  const std::size_t page = page_size();
  const std::size_t from = (first + page - 1) / page * page;
  const std::size_t to = (first + bytes) / page * page;
  if (memory_ != nullptr && from < to) ::madvise(data() + from, to - from, MADV_DONTNEED);
}

std::size_t HugePages::mapped_bytes(std::size_t bytes) noexcept {
  const std::size_t page = page_size();
  const std::size_t pages = bytes / page + (bytes % page != 0 ? 1 : 0);
  return pages > std::numeric_limits<std::size_t>::max() / page ? bytes : pages * page;
}

void detail::Unmap::operator()(std::byte* memory) const noexcept {
  ::munmap(memory, bytes);
}

Tensor huge_zeros(DType dtype, const Shape& shape) {
  const auto elements = static_cast<std::size_t>(shape.elements());
  if (elements > std::numeric_limits<std::size_t>::max() / 2 / size_of(dtype)) {
    throw ResourceError("[memory] a tensor of shape " + to_string(shape) +
                        ": its bytes do not fit into 63 bits; choose a smaller one");
  }
  auto memory = std::make_shared<HugePages>(elements * size_of(dtype));
  void* first = memory->data();
  return Tensor::borrow(first, dtype, shape, std::move(memory));
}

}  // namespace headrace::inline v1
