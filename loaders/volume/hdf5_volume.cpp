#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/hdf5/internal/library_access.h>
#include <headrace/loaders/internal/scratch_pool.h>
#include <headrace/loaders/volume/detail/voxel/flat_blocks.h>
#include <headrace/loaders/volume/detail/voxel/visit_dtype.h>
#include <headrace/loaders/volume/hdf5_volume.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1 {
namespace {

namespace fs = std::filesystem;
using detail::Hdf5Dataset;
using detail::OpenedFile;

/// The four last of some extents; those before them must be 1.
VolumeIndex last_four(std::span<const std::int64_t> extents, const std::string& name) {
  VolumeIndex four{1, 1, 1, 1};
  const std::size_t rank = extents.size();
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::size_t from_last = rank - 1 - axis;
    if (from_last < 4) {
      four[3 - from_last] = extents[axis];
    } else if (extents[axis] != 1) {
      throw DataError("[hdf5] " + name +
                      ": must have axes (c, z, y, x) and only ones before them, got " +
                      std::to_string(rank) + " axes, the first of " +
                      std::to_string(extents[axis]) + "; store each part as a dataset");
    }
  }
  return four;
}

/// Decoded here, chunk by chunk.
class Hdf5Chunks final : public Volume {
 public:
  Hdf5Chunks(const VolumeInfo& info, std::string name, OpenedFile file, Hdf5Dataset dataset)
      : Volume(info, std::move(name)), file_(std::move(file.file)), dataset_(std::move(dataset)) {}

  std::uint64_t read_block(const VolumeIndex& place, std::span<std::byte> out) const override {
    const VolumeIndex grid = info().grid();
    const auto chunk = static_cast<std::size_t>(
        ((place[0] * grid[1] + place[1]) * grid[2] + place[2]) * grid[3] + place[3]);
    const auto scratch = scratches_.take();
    if (dataset_.chunk_bytes == out.size()) {
      detail::read_chunk(*file_, dataset_, chunk, out, scratch->codec);
    } else {  // chunks may reach beyond an axis of extent 1 that is left out
      const std::span<std::byte> decoded = scratch->chunk.take(dataset_.chunk_bytes);
      detail::read_chunk(*file_, dataset_, chunk, decoded, scratch->codec);
      std::memcpy(out.data(), decoded.data(), out.size());
    }
    file_->require_unchanged();
    return dataset_.chunks->places[chunk].bytes;
  }

  /// A chunk as stored, and two between filters.
  std::size_t working_bytes() const override { return 4 * dataset_.chunk_bytes; }
  std::size_t resident_bytes() const override {
    return dataset_.chunks->places.size() * sizeof(detail::ChunkPlace);
  }

 private:
  struct Scratch {
    detail::CodecScratch codec;
    detail::ScratchBytes chunk;
  };

  std::shared_ptr<const detail::DataFile> file_;
  Hdf5Dataset dataset_;
  mutable detail::ScratchPool<Scratch> scratches_;
};

/// In one piece.
class Hdf5Piece final : public Volume {
 public:
  Hdf5Piece(const VolumeInfo& info, std::string name, OpenedFile file, Hdf5Dataset dataset)
      : Volume(info, std::move(name)), file_(std::move(file.file)), dataset_(std::move(dataset)) {}

  std::uint64_t read_block(const VolumeIndex& place, std::span<std::byte> out) const override {
    const detail::FlatRange range = detail::flat_range(info(), place);
    const std::size_t voxel = size_of(info().dtype);
    const std::size_t bytes = static_cast<std::size_t>(range.count) * voxel;
    file_->read(out.data(), bytes,
                dataset_.offset + static_cast<std::uint64_t>(range.first) * voxel);
    file_->require_unchanged();
    detail::normalise(out.data(), static_cast<std::size_t>(range.count), info().dtype,
                      dataset_.swap);
    return bytes;
  }

 private:
  std::shared_ptr<const detail::DataFile> file_;
  Hdf5Dataset dataset_;
};

/// Through the library: a row of the dataset is a slice, or a row of voxels where it has two axes.
class Hdf5Slices final : public Volume {
 public:
  Hdf5Slices(const VolumeInfo& info, std::string name, OpenedFile file, Hdf5Dataset dataset)
      : Volume(info, std::move(name)),
        file_(std::move(file)),
        dataset_(std::move(dataset)),
        reader_(file_.library->reader(dataset_, cache_bytes(dataset_))) {}

  std::uint64_t read_block(const VolumeIndex& place, std::span<std::byte> out) const override {
    const std::int64_t row = place[0] * info().shape[1] + place[1];
    if (dataset_.row.rank() == 2) {
      const detail::SortedRow wanted{row, out.data()};
      reader_->read({&wanted, 1});
      return dataset_.row_bytes;
    }
    const std::int64_t first = place[2] * info().block[2];
    const std::int64_t count = std::min(info().block[2], info().shape[2] - first);
    reader_->read_places(first, count, out.data());
    return static_cast<std::uint64_t>(count) * dataset_.row_bytes;
  }

  std::size_t resident_bytes() const override { return reader_->bytes(); }

 private:
  static std::size_t cache_bytes(const Hdf5Dataset& dataset) {
    constexpr std::size_t most = std::size_t{64} << 20, chunks_kept = 4;
    return std::max(std::min(dataset.chunk_bytes * chunks_kept, most), dataset.chunk_bytes);
  }

  OpenedFile file_;
  Hdf5Dataset dataset_;
  std::unique_ptr<detail::LibraryReader> reader_;
};

std::string file_name(const fs::path& path) {
  return detail::printable(path.native());
}

/// The dataset that is named, or the only one.
std::string choose(const OpenedFile& file, const fs::path& path, const std::string& named) {
  if (!named.empty()) return named;
  const std::vector<std::string> all = file.library->all_datasets();
  if (all.size() == 1) return all.front();
  constexpr std::size_t most_listed = 20;
  std::string list;
  for (std::size_t i = 0; i < std::min(all.size(), most_listed); ++i)
    list += (i == 0 ? "" : ", ") + detail::printable(all[i]);
  throw ConfigError("[hdf5] " + file_name(path) +
                    ": a dataset must be named where a file does not have exactly one, this one "
                    "has " +
                    (all.empty() ? "none" : list + (all.size() > most_listed ? ", ..." : "")));
}

Hdf5Dataset describe(const OpenedFile& file, const std::string& path, const VolumeLimits& limits,
                     int axes) {
  return file.library->describe({.field = "volume",
                                 .path = path,
                                 .axes = axes,
                                 .all_axes = true,
                                 .memory = limits.block_bytes});
}

void require_voxels(const Hdf5Dataset& dataset, const std::string& name) {
  if (!dataset.ragged && dataset.row.rank() == 0 && dataset.leading.size() >= 2) return;
  throw DataError("[hdf5] " + name + ": must be numbers with 2 or more axes to be a volume, got " +
                  std::to_string(dataset.leading.size()) + " axes of " +
                  (dataset.ragged || dataset.row.rank() > 0 ? "several values" : "numbers") +
                  "; name another dataset");
}

/// Millimetres, from the attribute that microscopists' programs write.
void read_spacing(const OpenedFile& file, const std::string& dataset, VolumeInfo& info) {
  const std::vector<Hdf5Attribute> found =
      file.library->attributes({.names = {"element_size_um"}, .objects = {dataset}});
  if (found.empty() || found.front().value.elements() != 3) return;
  const Tensor& value = found.front().value;
  detail::visit_dtype(value.dtype(), [&](auto element) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      std::memcpy(&element, value.as_bytes().data() + axis * sizeof element, sizeof element);
      info.spacing[axis] = detail::number_of(element) / 1000.0;
    }
  });
  info.affine[0] = info.spacing[2];
  info.affine[5] = info.spacing[1];
  info.affine[10] = info.spacing[0];
}

VolumeIndex chunk_of(const Hdf5Dataset& dataset) {
  const std::span<const std::uint64_t> chunk = dataset.chunks->grid.layout().chunk;
  VolumeIndex four{1, 1, 1, 1};
  for (std::size_t i = 0; i < std::min<std::size_t>(chunk.size(), 4); ++i)
    four[3 - i] = static_cast<std::int64_t>(chunk[chunk.size() - 1 - i]);
  return four;
}

/// A slice, or some rows of a dataset that has no others.
VolumeIndex library_block(const VolumeInfo& info, const Hdf5Dataset& dataset) {
  constexpr std::size_t wanted_bytes = std::size_t{1} << 19;
  const auto rows = static_cast<std::int64_t>(wanted_bytes / dataset.row_bytes);
  const bool slices = dataset.row.rank() == 2;
  return {1, 1, slices ? info.shape[2] : std::clamp<std::int64_t>(rows, 1, info.shape[2]),
          info.shape[3]};
}

template <class Kind>
std::shared_ptr<const Volume> made(const VolumeInfo& info, const VolumeLimits& limits,
                                   const std::string& name, OpenedFile file, Hdf5Dataset dataset) {
  check_volume(info, limits, name);
  return std::make_shared<Kind>(info, name, std::move(file), std::move(dataset));
}

}  // namespace

std::shared_ptr<const Volume> open_hdf5_volume(const fs::path& path, const VolumeOptions& options) {
  OpenedFile file = detail::open_hdf5(path, {}, true);
  const std::string chosen = choose(file, path, options.dataset);
  const std::string name = file_name(path) + ":" + detail::printable(chosen);
  const VolumeLimits& limits = options.limits;
  Hdf5Dataset dataset = describe(file, chosen, limits, static_cast<int>(Shape::max_rank));
  require_voxels(dataset, name);
  VolumeInfo info;
  info.dtype = dataset.dtype;
  info.shape = last_four(dataset.leading, name);
  check_volume(
      info, VolumeLimits{.extent = limits.extent, .voxels = limits.voxels, .blocks = limits.voxels},
      name);
  read_spacing(file, chosen, info);
  file.library->save_indexes();  // where it cannot be kept, it is built anew at every opening
  if (!dataset.library.empty()) {
    const int rank = static_cast<int>(dataset.leading.size());
    dataset = describe(file, chosen, limits, std::max(rank - 2, 1));
    info.block = library_block(info, dataset);
    return made<Hdf5Slices>(info, limits, name, std::move(file), std::move(dataset));
  }
  if (dataset.chunks) {
    info.block = chunk_of(dataset);
    return made<Hdf5Chunks>(info, limits, name, std::move(file), std::move(dataset));
  }
  info.block = detail::flat_block(info.shape, static_cast<std::int64_t>(size_of(info.dtype)));
  return made<Hdf5Piece>(info, limits, name, std::move(file), std::move(dataset));
}

}  // namespace headrace::inline v1
