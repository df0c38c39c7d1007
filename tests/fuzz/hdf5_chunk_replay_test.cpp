#include <headrace/tests/fuzz/stored_inputs.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void run(const std::vector<std::uint8_t>& bytes) {
  // A block of its own, so that a read past the end is seen by a sanitizer.
  const std::vector<std::uint8_t> exact(bytes.begin(), bytes.end());
  CHECK(LLVMFuzzerTestOneInput(exact.data(), exact.size()) == 0);
}

}  // namespace

TEST_CASE("stored chunks, whole, cut and changed, give their bytes or a refusal") {
  const auto inputs = test::stored_inputs("hdf5_chunk");
  CHECK(inputs.size() >= 12);
  for (const test::StoredInput& input : inputs) {
    CAPTURE(input.name);
    std::vector<std::uint8_t> bytes(input.bytes.size());
    std::transform(input.bytes.begin(), input.bytes.end(), bytes.begin(),
                   [](auto byte) { return static_cast<std::uint8_t>(byte); });
    REQUIRE(!bytes.empty());
    run(bytes);
    for (std::size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 50) {
      run({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(at)});
      std::vector<std::uint8_t> changed = bytes;
      changed[at] ^= 0xff;
      run(changed);
      changed[at] ^= 0xfe;
      run(changed);
    }
  }
}
