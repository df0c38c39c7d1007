#include <headrace/apps/feed/debian_package.h>
#include <headrace/benchmarks/volumes/data.h>
#include <headrace/loaders/volume/chunk_store_writer.h>
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/loaders/volume/volume_values.h>
#include <headrace/loaders/volume/volume_writer.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace headrace::inline v1::bench {

namespace fs = std::filesystem;

namespace {

fs::path template_file(std::string_view name) {
  constexpr std::string_view sha256 =
      "d40aa0ed66cf89bf6cafa049ad3884703c9d975c2ee2737525b7196528df9d6f";
  const auto say = [](std::string_view what) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(what.size()), what.data());
  };
  return app::debian_package("mricron-data", sha256, say) / "usr/share/mricron/templates" / name;
}

void write_plain(const fs::path& from, const fs::path& to, bool as_mask) {
  if (fs::exists(to)) return;
  Voxels voxels = voxels_of_file(from);
  if (as_mask) {
    const auto bytes = size_of(voxels.info.dtype);
    std::vector<std::byte> mask(voxels.bytes.size() / bytes);
    for (std::size_t i = 0; i < voxels.bytes.size(); ++i)
      if (voxels.bytes[i] != std::byte{0}) mask[i / bytes] = std::byte{1};
    voxels.bytes = std::move(mask);
    voxels.info.dtype = DType::uint8;
    voxels.info.scale = 1;
    voxels.info.offset = 0;
  }
  write_nifti(to, voxels.info, voxels.bytes);
}

}  // namespace

void add_work(Options& options) {
  const char* temporary = std::getenv("TMPDIR");
  options
      .add("folder", std::string(temporary != nullptr ? temporary : "/tmp") + "/headrace-volumes",
           "where data is made, on a disk")
      .add("image", "", "a volume instead of the MRI ch2")
      .add("label", "", "its labels: all that is not 0")
      .add("patch", "72,136,136", "voxels along z, y, x")
      .add("batch", "2", "patches of a batch")
      .add("threads", "2", "of every contender");
}

Work::Work(const Options& options)
    : folder(options.text("folder")),
      image(options.text("image")),
      label(options.text("label")),
      batch(options.number("batch")),
      threads(options.number("threads")) {
  // Data of other volumes are others.
  if (!image.empty() || !label.empty())
    folder /= image.stem().string() + "-" + label.stem().string();
  const auto extents = options.list("patch");
  for (std::size_t axis = 0; axis < 3; ++axis)
    patch[axis] = static_cast<std::int64_t>(extents.at(axis));
}

void prepare(const Work& work) {
  fs::create_directories(work.folder);
  write_plain(work.image.empty() ? template_file("ch2.nii.gz") : work.image,
              work.folder / "image.nii", false);
  write_plain(work.label.empty() ? template_file("ch2bet.nii.gz") : work.label,
              work.folder / "label.nii", true);
  write_plain(template_file("ch2better.nii.gz"), work.folder / "large.nii", false);
}

Voxels voxels_of_file(const fs::path& file) {
  const auto volume = open_volume(file);
  const auto cache = std::make_shared<BlockCache>(volume->info().block_bytes());
  const CachedVolume all(volume, cache);
  Voxels out{.info = volume->info()};
  const auto voxel = size_of(out.info.dtype);
  out.bytes.resize(static_cast<std::size_t>(voxels_of(out.info.shape)) * voxel);
  all.read_box({{}, out.info.shape}, BoxMemory::dense(out.bytes.data(), out.info.shape, voxel));
  return out;
}

std::array<double, 2> mean_and_deviation(const Voxels& voxels) {
  std::vector<float> values(voxels.bytes.size() / size_of(voxels.info.dtype));
  to_float(voxels.info, voxels.bytes, values.data());
  double sum = 0;
  double squares = 0;
  for (const float value : values) {
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  const auto count = static_cast<double>(values.size());
  const double mean = sum / count;
  return {mean, std::sqrt(squares / count - mean * mean)};
}

fs::path chunk_store(const fs::path& from, ChunkStoreCodec codec) {
  constexpr std::array<const char*, 3> words{"raw", "lz4", "zstd"};
  fs::path to = from;
  to.replace_extension(std::string(words.at(static_cast<std::size_t>(codec))) + ".chunks");
  if (!fs::exists(to)) write_chunk_store(*open_volume(from), {.file = to, .codec = codec});
  return to;
}

std::size_t block_bytes_of(const Volume& volume) {
  return static_cast<std::size_t>(voxels_of(volume.info().grid())) * volume.info().block_bytes();
}

VolumeCase cached_case(const Work& work, double cache_share) {
  const auto image = open_volume(chunk_store(work.folder / "image.nii", ChunkStoreCodec::lz4));
  const auto label = open_volume(chunk_store(work.folder / "label.nii", ChunkStoreCodec::lz4));
  const auto bytes = static_cast<double>(block_bytes_of(*image) + block_bytes_of(*label));
  const auto cache = std::make_shared<BlockCache>(static_cast<std::size_t>(cache_share * bytes));
  VolumeCase of{.name = "volume",
                .images = {std::make_shared<const CachedVolume>(image, cache)},
                .label = std::make_shared<const CachedVolume>(label, cache)};
  of.foreground = std::make_shared<const ForegroundIndex>(*of.label);
  const auto [mean, deviation] = mean_and_deviation(voxels_of_file(work.folder / "image.nii"));
  of.means = {mean};
  of.deviations = {deviation};
  return of;
}

}  // namespace headrace::inline v1::bench
