#pragma once

#include <cstdint>

namespace headrace::test {

constexpr std::uint64_t mib = 1 << 20;
constexpr std::uint64_t gib = 1024 * mib;

}  // namespace headrace::test
