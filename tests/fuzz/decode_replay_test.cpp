#include <headrace/tests/fuzz/stored_inputs.h>

#include <cstdint>

#include <doctest/doctest.h>

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void run(const test::Bytes& bytes) {
  // A block of its own, so that a read past the end is seen by a sanitizer.
  const std::vector<std::byte> exact(bytes.begin(), bytes.end());
  CHECK(LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(exact.data()), exact.size()) ==
        0);
}

}  // namespace

TEST_CASE("inputs that a fuzzer found give a picture or a refusal") {
  const auto inputs = test::stored_inputs("decode");
  CHECK(inputs.size() >= 8);
  for (const test::StoredInput& input : inputs) {
    CAPTURE(input.name);
    REQUIRE(!input.bytes.empty());
    run(input.bytes);
  }
}

TEST_CASE("the fuzzer's seeds give a picture or a refusal") {
  for (const test::OddFile& file : test::odd_files()) {
    CAPTURE(file.name);
    if (file.bytes.size() < 100'000) run(file.bytes);
  }
}
