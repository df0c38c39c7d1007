#include <headrace/tests/fuzz/seeds.h>
#include <headrace/tests/support/source_folder.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace headrace::test {
namespace {

/// The files of other libraries in tests/loaders/volume/data with such names.
std::vector<StoredInput> files_named(const std::vector<std::string>& suffixes) {
  const auto folder =
      std::filesystem::path(headrace::test::source_folder()) / "tests/loaders/volume/data";
  std::vector<StoredInput> inputs;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (std::ranges::none_of(suffixes, [&](const auto& suffix) { return name.ends_with(suffix); }))
      continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    inputs.push_back({name, bytes_of(text)});
  }
  std::ranges::sort(inputs, {}, &StoredInput::name);
  return inputs;
}

}  // namespace

std::vector<StoredInput> nifti_seeds() {
  return files_named({".nii", ".nii.gz", ".hdr.gz"});
}

std::vector<StoredInput> tiff_volume_seeds() {
  return files_named({".tif"});
}

}  // namespace headrace::test
