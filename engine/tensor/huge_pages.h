#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/tensor/tensor.h>

#include <cstddef>
#include <memory>
#include <span>

namespace headrace::inline v1 {

namespace detail {
struct HEADRACE_API Unmap {
  std::size_t bytes = 0;
  void operator()(std::byte* memory) const noexcept;
};
}  // namespace detail

/// Anonymous memory, zeroed, aligned to 2 MiB and marked for huge pages, so that random rows of a
/// large table cost few address translations. Unmapped with the object. Writing needs an owner,
/// reading does not.
class HEADRACE_API HugePages {
 public:
  static constexpr std::size_t huge_page = std::size_t{2} << 20;

  HugePages() = default;
  /// Throws ResourceError when the memory cannot be had. Zero bytes map nothing.
  explicit HugePages(std::size_t bytes);

  std::byte* data() const noexcept { return memory_.get(); }
  /// As asked for.
  std::size_t size() const noexcept { return size_; }
  /// What the process answers for: size() in whole pages.
  std::size_t mapped_bytes() const noexcept { return memory_.get_deleter().bytes; }
  std::span<std::byte> bytes() const noexcept { return {data(), size_}; }
  /// Gives the pages back to the system; the address stays, its contents are zero again.
  void discard() noexcept;
  /// Likewise of some of them: the whole pages of the range.
  void discard(std::size_t first, std::size_t bytes) noexcept;

  /// mapped_bytes() of a mapping of `bytes`.
  static std::size_t mapped_bytes(std::size_t bytes) noexcept;

 private:
  std::unique_ptr<std::byte, detail::Unmap> memory_;
  std::size_t size_ = 0;
};

/// A tensor in memory of its own on huge pages, every byte zero. Throws ResourceError when the
/// memory cannot be had.
HEADRACE_API Tensor huge_zeros(DType dtype, const Shape& shape);

}  // namespace headrace::inline v1
