#include <headrace/benchmarks/cold/page_cache.h>
#include <headrace/benchmarks/volumes/reading.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/loaders/volume/patch_sampler.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace headrace::inline v1::bench {

namespace fs = std::filesystem;

std::vector<StoredVolume> stored_volumes(const Work& work) {
  const fs::path large = work.folder / "large.nii";
  std::vector<StoredVolume> all{
      {"chunk store, raw", "", chunk_store(large, ChunkStoreCodec::raw)},
      {"chunk store, LZ4", "lz4", chunk_store(large, ChunkStoreCodec::lz4)},
      {"chunk store, Zstandard", "zstd", chunk_store(large, ChunkStoreCodec::zstd)},
      {"Zarr v3 shards", "zstd", work.folder / "large.zarr"},
      {"b2nd", "blosc2", work.folder / "large.b2nd"},
      {"HDF5, gzip", "gzip", work.folder / "large.h5"},
      {"NIfTI", "", large}};
  std::erase_if(all, [](const StoredVolume& each) { return !fs::exists(each.path); });
  return all;
}

std::vector<fs::path> files_of(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file()) files.push_back(entry.path());
  return files;
}

PatchReading::PatchReading(StoredVolume what, const Work& work, double cache_share)
    : what_(std::move(what)), work_(work), cache_share_(cache_share), files_(files_of(what_.path)) {
  open();
}

void PatchReading::open() {
  volume_.reset();
  const auto volume = open_volume(what_.path);
  // Room for the blocks in the making, too, where blocks are large.
  const auto least = volume->info().block_bytes() * static_cast<std::size_t>(work_.threads + 1);
  const auto bytes = static_cast<double>(block_bytes_of(*volume));
  cache_ =
      std::make_shared<BlockCache>(std::max(least, static_cast<std::size_t>(cache_share_ * bytes)));
  volume_.emplace(volume, cache_);
}

void PatchReading::make_cold() {
  evict(files_);
  open();
}

template <class Use>
void PatchReading::on_threads(std::int64_t count, const Use& use) {
  std::atomic<std::int64_t> next{0};
  std::mutex lock;
  std::exception_ptr failure;
  const auto thread = [&] {
    std::vector<std::byte> memory;
    try {
      for (std::int64_t i = next++; i < count; i = next++)
        use(i, memory);
    } catch (...) {
      const std::lock_guard guard(lock);
      failure = std::current_exception();
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < work_.threads; ++i)
    threads.emplace_back(thread);
  threads.clear();
  if (failure) std::rethrow_exception(failure);
}

double PatchReading::read(std::int64_t patches) {
  const auto& info = volume_->info();
  const auto voxel = size_of(info.dtype);
  const auto& patch = work_.patch;
  const VolumeIndex extents{info.shape[0], patch[0], patch[1], patch[2]};
  on_threads(patches, [&](std::int64_t i, std::vector<std::byte>& out) {
    out.resize(static_cast<std::size_t>(voxels_of(extents)) * voxel);
    Random random(RandomKey{.seed = 11, .position = position_ + i});
    const auto middle = uniform_middle(info.shape, patch, random);
    VolumeBox box{.begin = {}, .end = {info.shape[0]}};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      box.begin[axis + 1] = middle[axis] - patch[axis] / 2;
      box.end[axis + 1] = box.begin[axis + 1] + patch[axis];
    }
    volume_->read_box(box, BoxMemory::dense(out.data(), extents, voxel));
  });
  position_ += patches;
  return static_cast<double>(patches);
}

void PatchReading::fill() {
  const auto& info = volume_->info();
  const VolumeIndex grid = info.grid();
  on_threads(grid[1] * grid[2], [&](std::int64_t i, std::vector<std::byte>& /*memory*/) {
    VolumeBox box{.begin = {0, i / grid[2] * info.block[1], i % grid[2] * info.block[2], 0},
                  .end = info.shape};
    for (const std::size_t axis : {std::size_t{1}, std::size_t{2}})
      box.end[axis] = std::min(info.shape[axis], box.begin[axis] + info.block[axis]);
    volume_->prefetch(box);
  });
}

double read_files(const std::vector<fs::path>& files, int threads) {
  constexpr std::uint64_t piece = 1U << 20U;
  struct Piece {
    const fs::path* file;
    std::uint64_t at;
  };
  std::vector<Piece> pieces;
  double bytes = 0;
  for (const auto& file : files) {
    const auto size = fs::file_size(file);
    bytes += static_cast<double>(size);
    for (std::uint64_t at = 0; at < size; at += piece)
      pieces.push_back({&file, at});
  }
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  const auto thread = [&] {
    std::vector<std::byte> out(piece);
    for (std::size_t i = next++; i < pieces.size(); i = next++) {
      const int descriptor = ::open(pieces[i].file->c_str(), O_RDONLY | O_CLOEXEC);
      const auto count = ::pread(descriptor, out.data(), piece, static_cast<off_t>(pieces[i].at));
      if (count <= 0) failed = true;
      if (descriptor >= 0) ::close(descriptor);
    }
  };
  std::vector<std::jthread> all;
  for (int i = 0; i < threads; ++i)
    all.emplace_back(thread);
  all.clear();
  if (failed) throw ResourceError("[benchmark] cannot read " + files.front().string());
  return bytes;
}

}  // namespace headrace::inline v1::bench
