#include <headrace/loaders/internal/byte_order.h>

#include <cstdint>
#include <cstring>

namespace headrace::inline v1::detail {
namespace {

std::uint16_t reversed(std::uint16_t value) noexcept {
  return __builtin_bswap16(value);
}
std::uint32_t reversed(std::uint32_t value) noexcept {
  return __builtin_bswap32(value);
}
std::uint64_t reversed(std::uint64_t value) noexcept {
  return __builtin_bswap64(value);
}

template <class T>
void reverse_all(void* data, std::size_t count) noexcept {
  auto* bytes = static_cast<std::byte*>(data);
  for (std::size_t i = 0; i < count; ++i, bytes += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes, sizeof(T));
    value = reversed(value);
    std::memcpy(bytes, &value, sizeof(T));
  }
}

}  // namespace

void reverse_bytes(void* data, std::size_t count, std::size_t element_bytes) noexcept {
  switch (element_bytes) {
    case 2:
      return reverse_all<std::uint16_t>(data, count);
    case 4:
      return reverse_all<std::uint32_t>(data, count);
    case 8:
      return reverse_all<std::uint64_t>(data, count);
    default:
      break;
  }
}

}  // namespace headrace::inline v1::detail
