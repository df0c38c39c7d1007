// A TIFF file of any content is a volume, the same each time it is read and of finite lengths, or a
// DataError.
#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/tiff_volume.h>
#include <headrace/tests/fuzz/finding.h>
#include <headrace/tests/fuzz/memory_file.h>
#include <headrace/tests/loaders/volume/whole_volume.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const test::MemoryFile file(std::as_bytes(std::span(data, size)));
  const VolumeLimits limits{.voxels = 1 << 20, .block_bytes = 1 << 20, .blocks = 1 << 8};
  try {
    const auto volume = open_tiff_volume(file.name(), limits);
    if (!std::ranges::all_of(volume->info().spacing,
                             [](double step) { return std::isfinite(step) && step > 0.0; }))
      test::finding("a spacing of nothing");
    if (test::whole_volume(*volume) != test::whole_volume(*volume))
      test::finding("a volume is not the same when read again");
  } catch (const DataError&) {
  }
  return 0;
}
