// A NIfTI file of any content, packed or not, gives the voxels that its bytes are, in the machine's
// byte order, with a finite affine and spacing, or a DataError.
#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/nifti_volume.h>
#include <headrace/tests/fuzz/finding.h>
#include <headrace/tests/fuzz/memory_file.h>
#include <headrace/tests/loaders/volume/whole_volume.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

using namespace headrace;

namespace {

using Bytes = std::vector<std::byte>;

Bytes reversed(Bytes bytes, std::size_t voxel_bytes) {
  for (auto at = bytes.begin(); at != bytes.end(); at += static_cast<std::ptrdiff_t>(voxel_bytes))
    std::reverse(at, at + static_cast<std::ptrdiff_t>(voxel_bytes));
  return bytes;
}

void check_stored(const Bytes& voxels, std::span<const std::byte> input, std::size_t voxel_bytes) {
  if (voxels.size() > input.size()) test::finding("a volume has more bytes than its file");
  const auto tail = input.last(voxels.size());
  const Bytes stored(tail.begin(), tail.end());
  if (voxels != stored && voxels != reversed(stored, voxel_bytes))
    test::finding("voxels are not the file's bytes");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  const test::MemoryFile file(input);
  const VolumeLimits limits{.voxels = 1 << 22, .block_bytes = 1 << 20, .blocks = 1 << 10};
  try {
    const auto volume = open_nifti_volume(file.name(), limits);
    const VolumeInfo& info = volume->info();
    if (!std::ranges::all_of(info.affine, [](double value) { return std::isfinite(value); }) ||
        !std::ranges::all_of(info.spacing, [](double value) { return value > 0.0; }))
      test::finding("an affine that is not finite, or a spacing of nothing");
    const Bytes voxels = test::whole_volume(*volume);
    const bool packed = size > 1 && data[0] == 0x1f && data[1] == 0x8b;
    if (!packed) check_stored(voxels, input, size_of(info.dtype));
  } catch (const DataError&) {
  } catch (const ConfigError&) {  // a header alone: there is no other file
  }
  return 0;
}
