#include <headrace/tests/fuzz/seeds.h>

#include <array>
#include <utility>

namespace headrace::test {
namespace {

constexpr std::size_t most_bytes = 20'000;

bool is_jpeg(const Bytes& file) {
  return file.size() > 2 && file[0] == std::byte{0xff} && file[1] == std::byte{0xd8};
}

Bytes small(JpegSpec spec) {
  spec.width = 40;
  spec.height = 28;
  return encode_jpeg(spec, picture(spec.width, spec.height, spec.components));
}

}  // namespace

std::vector<StoredInput> image_seeds() {
  std::vector<StoredInput> inputs;
  for (const OddFile& file : odd_files()) {
    if (file.bytes.size() < most_bytes) inputs.push_back({file.name, file.bytes});
  }
  return inputs;
}

std::vector<StoredInput> jpeg_seeds() {
  std::vector<StoredInput> inputs;
  const std::array<std::pair<const char*, JpegSpec>, 11> specs{{
      {"plain", {}},
      {"coarse", {.quality = 5}},
      {"4:4:4", {.h_samp = 1, .v_samp = 1}},
      {"4:1:1", {.h_samp = 4, .v_samp = 1}},
      {"4:4:0", {.h_samp = 1, .v_samp = 2}},
      {"grey", {.components = 1}},
      {"CMYK", {.components = 4}},
      {"YCCK", {.components = 4, .ycck = true}},
      {"progressive", {.progressive = true}},
      {"progressive, restarts", {.progressive = true, .restart_rows = 1}},
      {"restarts", {.restart_rows = 1, .optimized = true}},
  }};
  for (const auto& [name, spec] : specs)
    inputs.push_back({name, small(spec)});
  for (const OddFile& file : odd_files()) {
    if (is_jpeg(file.bytes) && file.bytes.size() < 4000) inputs.push_back({file.name, file.bytes});
  }
  return inputs;
}

}  // namespace headrace::test
