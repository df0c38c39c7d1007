#include <headrace/loaders/memory/internal/gather_rows.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

constexpr std::size_t line = 64;
/// Lines of one row that are asked for ahead; the processor finds the rest of a long row by itself.
constexpr std::size_t most_lines = 32;
/// Lines in flight ahead of the copy.
constexpr std::size_t lines_ahead = 96;
constexpr std::size_t most_rows_ahead = 24;

using Vector = long long __attribute__((vector_size(16), aligned(1), may_alias));

// g++ 12 drops a prefetch helper at -O2 when it does not inline it.
[[gnu::always_inline]] inline void prefetch_row(const std::byte* row, std::size_t lines) noexcept {
#pragma GCC unroll 16
  for (std::size_t i = 0; i < lines; ++i)
    __builtin_prefetch(row + i * line, 0, 3);
}

/// A row of `Lines` whole lines. (A memcpy of constant size would become `rep movs`, which is
/// slower here.)
template <std::size_t Lines>
struct WholeLines {
  static constexpr std::size_t lines(std::size_t) noexcept { return Lines; }

  [[gnu::always_inline]] static void copy(std::byte* to, const std::byte* from,
                                          std::size_t) noexcept {
#pragma GCC unroll 16
    for (std::size_t i = 0; i < Lines; ++i) {
      const auto* source = reinterpret_cast<const Vector*>(from + i * line);
      auto* target = reinterpret_cast<Vector*>(to + i * line);
      const Vector a = source[0], b = source[1], c = source[2], d = source[3];
      target[0] = a;
      target[1] = b;
      target[2] = c;
      target[3] = d;
    }
  }
};

/// A row of a few bytes, their number known to the compiler: labels and other scalars.
template <std::size_t Bytes>
struct Scalar {
  static constexpr std::size_t lines(std::size_t) noexcept { return 1; }

  [[gnu::always_inline]] static void copy(std::byte* to, const std::byte* from,
                                          std::size_t) noexcept {
    std::memcpy(to, from, Bytes);
  }
};

/// A row of any length, which may begin anywhere in a line.
struct Any {
  static std::size_t lines(std::size_t bytes) noexcept {
    return std::min((bytes + 2 * line - 2) / line, most_lines);
  }

  [[gnu::always_inline]] static void copy(std::byte* to, const std::byte* from,
                                          std::size_t bytes) noexcept {
    std::memcpy(to, from, bytes);
  }
};

template <class Row>
void gather_with(const std::byte* table, std::size_t row_bytes,
                 std::span<const std::int64_t> indices, Rows::Column out) noexcept {
  const std::size_t lines = Row::lines(row_bytes);
  const std::size_t ahead = std::clamp<std::size_t>(lines_ahead / lines, 1, most_rows_ahead);
  const auto at = [&](std::size_t k) {
    return table + static_cast<std::size_t>(indices[k]) * row_bytes;
  };
  const std::size_t count = indices.size();
  const std::size_t warm = std::min(ahead, count);
  for (std::size_t k = 0; k < warm; ++k)
    prefetch_row(at(k), lines);
  std::byte* to = out.first;
  std::size_t k = 0;
  for (; k + ahead < count; ++k, to += out.stride) {
    prefetch_row(at(k + ahead), lines);
    Row::copy(to, at(k), row_bytes);
  }
  for (; k < count; ++k, to += out.stride)
    Row::copy(to, at(k), row_bytes);
}

using Gather = void (*)(const std::byte*, std::size_t, std::span<const std::int64_t>,
                        Rows::Column) noexcept;

template <std::size_t... I>
Gather gather_lines(std::size_t lines, std::index_sequence<I...>) noexcept {
  static constexpr Gather by_lines[] = {&gather_with<WholeLines<I + 1>>...};
  return by_lines[lines - 1];
}

Gather choose(std::size_t row_bytes, bool aligned) noexcept {
  switch (row_bytes) {
    case 1:
      return &gather_with<Scalar<1>>;
    case 2:
      return &gather_with<Scalar<2>>;
    case 4:
      return &gather_with<Scalar<4>>;
    case 8:
      return &gather_with<Scalar<8>>;
    default:
      break;
  }
  constexpr std::size_t most_unrolled = 16;
  if (aligned && row_bytes % line == 0 && row_bytes / line <= most_unrolled) {
    return gather_lines(row_bytes / line, std::make_index_sequence<most_unrolled>());
  }
  return &gather_with<Any>;
}

}  // namespace

void gather_rows(const std::byte* table, std::size_t row_bytes,
                 std::span<const std::int64_t> indices, Rows::Column out) noexcept {
  if (row_bytes == 0 || indices.empty()) return;
  const bool aligned = reinterpret_cast<std::uintptr_t>(table) % line == 0;
  choose(row_bytes, aligned)(table, row_bytes, indices, out);
}

}  // namespace headrace::inline v1::detail
