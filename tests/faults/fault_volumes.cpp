#include <headrace/loaders/volume/chunk_store_writer.h>
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/loaders/volume/volume_reader.h>
#include <headrace/loaders/volume/volume_writer.h>
#include <headrace/tests/faults/fault_parts.h>
#include <headrace/tests/loaders/hdf5_files.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headrace::test {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t slices = 6, rows = 4, columns = 6;
constexpr std::size_t slice_bytes = rows * columns;

/// Four slices in each chunk, not compressed.
void write_zarr(const fs::path& folder, std::span<const std::byte> voxels) {
  fs::create_directories(folder);
  const std::string array =
      R"({"zarr_format": 2, "shape": [6, 4, 6], "chunks": [4, 4, 6], "dtype": "|u1",
          "compressor": null, "filters": null, "fill_value": 0, "order": "C"})";
  std::ofstream(folder / ".zarray") << array;
  for (std::size_t chunk = 0; chunk < 2; ++chunk) {
    const auto left = voxels.subspan(chunk * 4 * slice_bytes);
    Bytes bytes(4 * slice_bytes);
    std::copy_n(left.begin(), std::min(left.size(), bytes.size()), bytes.begin());
    put(folder / (std::to_string(chunk) + ".0.0"), bytes);
  }
}

/// A file for each slice.
void write_slices(const fs::path& folder, std::span<const std::byte> voxels) {
  fs::create_directories(folder);
  for (std::size_t z = 0; z < slices; ++z)
    write_tiff_volume(folder / (std::to_string(z) + ".tif"), {.shape = {1, 1, rows, columns}},
                      voxels.subspan(z * slice_bytes, slice_bytes));
}

/// The slices of volumes of every way of storage in turn, opened anew with every source and read
/// through a cache that holds two of them.
class VolumeSlices final : public Source {
 public:
  explicit VolumeSlices(const std::vector<fs::path>& files) {
    const auto cache = std::make_shared<BlockCache>(2 * slices * slice_bytes);
    for (const fs::path& file : files)
      volumes_.push_back(std::make_unique<CachedVolume>(open_volume(file), cache));
  }
  std::string name() const override { return "volumes"; }
  std::int64_t size() const override { return fault_records; }
  Schema fields() const override {
    return {FieldSpec::fixed("slice", DType::uint8, {rows, columns})};
  }
  void read(std::int64_t index, Sample& sample) const override {
    const auto count = static_cast<std::int64_t>(volumes_.size());
    const VolumeBox box{.begin = {0, index / count, 0, 0},
                        .end = {1, index / count + 1, rows, columns}};
    const Tensor slice = Tensor::empty(DType::uint8, {rows, columns});
    volumes_[static_cast<std::size_t>(index % count)]->read_box(
        box, BoxMemory::dense(static_cast<std::byte*>(slice.raw()), box.shape(), 1));
    sample.set("slice", slice);
  }
  bool blocking() const override { return true; }

 private:
  std::vector<std::unique_ptr<CachedVolume>> volumes_;
};

}  // namespace

FaultScenario volume_scenario(const fs::path& folder, bool by_libraries) {
  std::vector<fs::path> files{folder / "a.nii", folder / "b.hrv", folder / "c.nii.gz"};
  const std::vector<std::byte> voxels = noise(slices * slice_bytes);
  const VolumeInfo info{.shape = {1, slices, rows, columns}};
  write_nifti(files[0], info, voxels);
  write_chunk_store(*open_volume(files[0]), {.file = files[1]});
  write_nifti(files[2], info, voxels);
  if (by_libraries) {
    write_zarr(files.emplace_back(folder / "d.zarr"), voxels);
    write_tiff_volume(files.emplace_back(folder / "e.tif"), info, voxels);
    write_slices(files.emplace_back(folder / "f"), voxels);
  }
  FaultScenario scenario{.records = fault_records};
  for (std::size_t i = 0; i < fault_records; ++i)
    scenario.rows["slice"].push_back(
        text_of(voxels.data() + i / files.size() * slice_bytes, slice_bytes));
  scenario.open = [files] {
    return Pipeline::from(std::make_shared<const VolumeSlices>(files))
        .order(Shuffled{.seed = fault_seed})
        .batch({.size = fault_batch});
  };
  return scenario;
}

}  // namespace headrace::test
