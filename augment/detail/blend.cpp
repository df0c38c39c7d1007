#include <headrace/augment/detail/blend.h>

#include <cstring>

namespace headrace::inline v1::detail {

void blend(const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* to, std::int64_t count,
           float share) {
  const auto own = static_cast<std::uint32_t>(share * 65536.0F + 0.5F);
  const std::uint32_t other = 65536U - own;
  if (other == 0) {
    if (to != a) std::memcpy(to, a, static_cast<std::size_t>(count));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = static_cast<std::uint8_t>((a[i] * own + b[i] * other + 32768U) >> 16);
}

}  // namespace headrace::inline v1::detail
