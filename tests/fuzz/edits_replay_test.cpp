// The target HEADRACE_FUZZ_TARGET, whose inputs end in edits of a sound file (edits.h), in any
// compiler's build: its seeds as they are, and with edits at random.
#include <headrace/engine/base/random.h>
#include <headrace/tests/fuzz/seeds.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

void append(Input& input, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    input.push_back(static_cast<std::uint8_t>(value >> 8 * i));
}

/// Small offsets are as likely as large ones: what says where things are stands at the beginning.
void append_edit(Input& input, Random& random) {
  constexpr std::array<std::uint64_t, 5> odd{0, 1, 0x7fffffff, 0xffffffff, ~std::uint64_t{0}};
  const auto bytes = static_cast<std::size_t>(1 + random.below(8));
  append(input, random.bits64() & ((std::uint64_t{1} << (4 + random.below(10))) - 1), 3);
  append(input, bytes - 1, 1);
  append(input,
         random.chance(0.5) ? odd[static_cast<std::size_t>(random.below(5))] : random.bits64(),
         bytes);
}

void run(const Input& bytes) {
  // A block of its own, so that a read past the end is seen by a sanitizer.
  const Input exact(bytes.begin(), bytes.end());
  CHECK(LLVMFuzzerTestOneInput(exact.data(), exact.size()) == 0);
}

}  // namespace

TEST_CASE("seeds and stored inputs, whole and with edits, give what the target says") {
  Random random(RandomKey{.seed = 3});
  const auto inputs = test::seeds(HEADRACE_FUZZ_TARGET);
  REQUIRE(!inputs.empty());
  for (const test::StoredInput& input : inputs) {
    CAPTURE(input.name);
    Input bytes(input.bytes.size());
    std::ranges::transform(input.bytes, bytes.begin(),
                           [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
    run(bytes);
    for (int round = 0; round < HEADRACE_FUZZ_PLACES; ++round) {
      CAPTURE(round);
      Input changed = bytes;
      for (std::int64_t edits = 1 + random.below(3); edits > 0; --edits)
        append_edit(changed, random);
      run(changed);
    }
  }
}
