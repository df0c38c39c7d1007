#include <headrace/engine/base/random.h>
#include <headrace/tests/fuzz/pack_edits.h>
#include <headrace/tests/fuzz/stored_inputs.h>

#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void append_edit(std::vector<std::uint8_t>& input, std::size_t offset, std::uint64_t value,
                 std::size_t bytes) {
  for (int shift = 0; shift < 24; shift += 8)
    input.push_back(static_cast<std::uint8_t>(offset >> shift));
  input.push_back(static_cast<std::uint8_t>(bytes - 1));
  for (std::size_t i = 0; i < bytes; ++i)
    input.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

}  // namespace

TEST_CASE("stored inputs of the pack fuzzer give pixels or a refusal") {
  const auto inputs = test::stored_inputs("pack");
  CHECK(inputs.size() >= 4);
  for (const test::StoredInput& input : inputs) {
    CAPTURE(input.name);
    const std::vector<std::byte> exact(input.bytes.begin(), input.bytes.end());
    CHECK(LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(exact.data()),
                                 exact.size()) == 0);
  }
}

TEST_CASE("random changes to sound packs and crop indices give pixels or a refusal") {
  Random random(RandomKey{.seed = 11});
  constexpr std::uint64_t odd[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, ~std::uint64_t{0}};
  for (int round = 0; round < 1500; ++round) {
    const auto which = static_cast<std::size_t>(random.below(test::pack_seeds));
    const auto size = static_cast<std::int64_t>(test::pack_seed(which).size());
    std::vector<std::uint8_t> input{static_cast<std::uint8_t>(which)};
    for (std::int64_t edits = 1 + random.below(3); edits > 0; --edits) {
      // Half of them into the part that says where things are.
      const std::int64_t meta = which == 0 ? 4096 + 4 * 80 : 300;
      const std::int64_t from = which == 0 ? 0 : std::max<std::int64_t>(0, size - meta);
      const bool in_meta = random.chance(0.5);
      const std::int64_t offset =
          in_meta ? from + random.below(std::min(meta, size)) : random.below(size);
      const std::uint64_t value = random.chance(0.5) ? odd[random.below(6)] : random.bits64();
      append_edit(input, static_cast<std::size_t>(offset), value,
                  static_cast<std::size_t>(1 + random.below(8)));
    }
    if (random.chance(0.1))
      append_edit(input, 0xffffff, static_cast<std::uint64_t>(random.below(size)), 8);
    CAPTURE(round);
    CHECK(LLVMFuzzerTestOneInput(input.data(), input.size()) == 0);
  }
}
