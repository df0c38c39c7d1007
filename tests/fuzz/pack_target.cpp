// A pack or crop index of any content, checksums made right, must give pixels or a DataError, and
// the same ones again after another picture.
#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/pack/image_pack.h>
#include <headrace/tests/fuzz/decode_views.h>
#include <headrace/tests/fuzz/finding.h>
#include <headrace/tests/fuzz/memory_file.h>
#include <headrace/tests/fuzz/pack_edits.h>

#include <cstdint>
#include <string>
#include <vector>

using namespace headrace;

namespace {

std::string read_pack(test::PackBytes file) {
  test::repair_pack(file);
  const test::MemoryFile memory(file);
  std::string outcome;
  try {
    const ImagePack pack(memory.name(), {.verify = false});
    for (std::int64_t i = 0; i < pack.size(); ++i) {
      Sample sample;
      pack.read(i, sample);
      const Tensor& image = sample["image"];
      outcome += pack.origin(i) +
                 test::decode_views({static_cast<const std::byte*>(image.raw()), image.bytes()});
    }
  } catch (const DataError& error) {
    // The name of the file differs from one run to the next.
    const std::string text = error.what();
    outcome += text.substr(text.find(": ") + 1);
  }
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t which = data[0] % test::pack_seeds;
  test::PackBytes file = test::edited(test::pack_seed(which), {data + 1, size - 1});
  const auto outcome = [&] {
    if (which == 0) return read_pack(file);
    test::repair_crop_index(file);
    return test::decode_views(file);
  };
  const std::string first = outcome();
  test::decode_views(test::pack_seed(which % 3 + 1));
  if (outcome() != first) test::finding("a pack gives something else the second time");
  return 0;
}
