// The target HEADRACE_FUZZ_TARGET in any compiler's build: its seeds as they are, cut and changed.
#include <headrace/tests/fuzz/seeds.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

/// So many cuts and changes of a seed: each is a decode or two.
constexpr std::size_t most_places = HEADRACE_FUZZ_PLACES;

Input input_of(const test::Bytes& bytes) {
  Input input(bytes.size());
  std::ranges::transform(bytes, input.begin(),
                         [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
  return input;
}

void run(const Input& bytes) {
  // A block of its own, so that a read past the end is seen by a sanitizer.
  const Input exact(bytes.begin(), bytes.end());
  CHECK(LLVMFuzzerTestOneInput(exact.data(), exact.size()) == 0);
}

}  // namespace

TEST_CASE("seeds and stored inputs, whole, cut and changed, give what the target says") {
  const auto inputs = test::seeds(HEADRACE_FUZZ_TARGET);
  REQUIRE(!inputs.empty());
  for (const test::StoredInput& input : inputs) {
    CAPTURE(input.name);
    const Input bytes = input_of(input.bytes);
    run(bytes);
    const std::size_t step = std::max<std::size_t>(bytes.size() / (most_places + 1), 1);
    for (std::size_t at = 0; most_places > 0 && at < bytes.size(); at += step) {
      run({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(at)});
      Input changed = bytes;
      changed[at] ^= 0xff;
      run(changed);
      changed[at] ^= 0xfe;
      run(changed);
    }
  }
}
