#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/hdf5/detail/chunk/chunk_store.h>
#include <headrace/loaders/hdf5/detail/dataset/describe_parts.h>
#include <headrace/loaders/hdf5/detail/dataset/number_list.h>
#include <headrace/loaders/hdf5/detail/dataset/virtual_selection.h>
#include <headrace/loaders/hdf5/detail/file/hdf5_types.h>
#include <headrace/loaders/hdf5/detail/library/library_budget.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::detail {
namespace {

constexpr std::size_t most_parts = 4096;

/// The name of a part's source: `get` asks for its file or its dataset.
template <class Get>
std::string source_name(Get get, const H5::DSetCreatPropList& creation, std::size_t part) {
  std::array<char, 4096> text{};
  const ssize_t length = get(creation.getId(), part, text.data(), text.size());
  if (length <= 0 || static_cast<std::size_t>(length) >= text.size())
    throw DataError("is virtual and has a source that cannot be told; the file is damaged");
  const std::string name(text.data());
  if (name.find('%') == std::string::npos) return name;
  throw DataError("is virtual and names its sources by the pattern \"" + printable(name) +
                  "\", which is refused; name every source");
}

/// The library reads the source's chunks through the driver of the virtual dataset's file.
void guard_chunks(const Hdf5File& file, const Hdf5File& source, const Hdf5Dataset& dataset,
                  std::size_t memory) {
  const ChunkGrid& grid = dataset.guarded->grid;
  if (grid.chunks() > most_indexed_chunks(memory, source.size())) {
    throw DataError(printable(source.path().native()) + ": dataset \"" + printable(dataset.path) +
                    "\" has " + std::to_string(grid.chunks()) +
                    " chunks, more than can be indexed in the memory of the table; raise it or "
                    "rewrite it with larger chunks");
  }
  constexpr std::size_t look_up = 100, place = 64;  // of a chunk
  expect_work(grid.chunks() * look_up + dataset.chunk_bytes,
              grid.chunks() * place + 8 * dataset.chunk_bytes);
  const auto guard = std::make_shared<ChunkGuard>(source, dataset);
  guard->expect(open_dataset(source, dataset.path), grid.all());
  file.driver().guard(source.descriptor(), guard);
}

/// Checks it as if it were read alone.
void admit_source(const Hdf5File& file, const Hdf5File& source, const DatasetRequest& wanted) {
  ChunkIndexes none(source, false);
  try {
    const Hdf5Dataset dataset = describe_dataset(source, wanted, none);
    if (dataset.guarded) guard_chunks(file, source, dataset, wanted.memory);
  } catch (const DataError& error) {
    throw DataError("is virtual, and a source of it cannot be read: " + std::string(error.what()));
  }
}

}  // namespace

void admit_sources(const Hdf5File& file, const DatasetRequest& request,
                   const H5::DSetCreatPropList& creation) {
  if (request.source) throw DataError("is virtual itself, which is refused; copy its data");
  std::size_t parts = 0;
  if (H5Pget_virtual_count(creation.getId(), &parts) < 0 || parts > most_parts) {
    throw DataError("is virtual and has more than " + std::to_string(most_parts) +
                    " parts; copy the data into this file");
  }
  std::map<std::pair<std::string, std::string>, H5::DataSpace> spaces;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::string name = source_name(H5Pget_virtual_filename, creation, i);
    const std::string dataset = source_name(H5Pget_virtual_dsetname, creation, i);
    auto space = spaces.find({name, dataset});
    if (space == spaces.end()) {
      const Hdf5File& source = file.source(name);
      admit_source(file, source,
                   {.field = request.field,
                    .path = dataset,
                    .all_axes = true,
                    .memory = request.memory,
                    .by_library = true,
                    .source = true});
      space =
          spaces.emplace(std::pair(name, dataset), open_dataset(source, dataset).getSpace()).first;
    }
    require_inside(creation, i, printable(name) + ":" + printable(dataset), space->second);
  }
}

namespace {

using Numbers = std::array<hsize_t, H5S_MAX_RANK>;

/// A regular selection, axis by axis.
struct Blocks {
  Numbers start{}, stride{}, count{}, block{};

  /// Whether its end lies inside an axis; what is selected without end follows its source.
  bool end_inside(std::size_t axis, hsize_t extent) const noexcept {
    if (count[axis] == H5S_UNLIMITED || block[axis] == H5S_UNLIMITED) return true;
    hsize_t end = 0;
    return !__builtin_mul_overflow(count[axis] - 1, stride[axis], &end) &&
           !__builtin_add_overflow(end, start[axis], &end) &&
           !__builtin_add_overflow(end, block[axis], &end) && end <= extent;
  }
};

std::string last_of(hid_t selection) {
  Numbers first{}, last{};
  if (H5Sget_select_bounds(selection, first.data(), last.data()) < 0) return "[?]";
  const auto rank = static_cast<std::size_t>(H5Sget_simple_extent_ndims(selection));
  return number_list(
      std::vector<std::uint64_t>(last.begin(), last.begin() + static_cast<std::ptrdiff_t>(rank)));
}

}  // namespace

bool selects_inside(hid_t selection, std::span<const hsize_t> extents) {
  if (H5Sget_simple_extent_ndims(selection) != static_cast<int>(extents.size())) return false;
  // The bounds of a regular selection are sums that may run over.
  if (H5Sget_select_type(selection) == H5S_SEL_HYPERSLABS &&
      H5Sis_regular_hyperslab(selection) > 0) {
    Blocks blocks;
    if (H5Sget_regular_hyperslab(selection, blocks.start.data(), blocks.stride.data(),
                                 blocks.count.data(), blocks.block.data()) < 0)
      return false;
    for (std::size_t axis = 0; axis < extents.size(); ++axis)
      if (!blocks.end_inside(axis, extents[axis])) return false;
    return true;
  }
  Numbers first{}, last{};
  return H5Sget_select_bounds(selection, first.data(), last.data()) >= 0 &&
         std::equal(extents.begin(), extents.end(), last.begin(), std::greater<>());
}

// The library takes what a part selects on trust: it would deliver what lies behind the data of a
// source in one piece, in memory where that is compact.
void require_inside(const H5::DSetCreatPropList& creation, std::size_t part,
                    const std::string& source, const H5::DataSpace& source_space) {
  const std::string must = "is virtual, and its part " + std::to_string(part) + " must ";
  const Hid place(H5Pget_virtual_vspace(creation.getId(), part));
  const Hid taken(H5Pget_virtual_srcspace(creation.getId(), part));
  if (!place.valid() || !taken.valid())
    throw DataError(must + "say what it takes of \"" + source + "\"; the file is damaged");
  const bool whole = H5Sget_select_type(taken.get()) == H5S_SEL_ALL;
  const hssize_t elements =
      whole ? source_space.getSimpleExtentNpoints() : H5Sget_select_npoints(taken.get());
  const hssize_t room = H5Sget_select_npoints(place.get());
  if (room != elements) {
    throw DataError(must + "have room for what it takes of \"" + source + "\", " +
                    std::to_string(elements) + " elements, got " + std::to_string(room) +
                    "; write the virtual dataset anew");
  }
  if (whole || elements == 0) return;
  std::vector<hsize_t> extents(static_cast<std::size_t>(source_space.getSimpleExtentNdims()));
  source_space.getSimpleExtentDims(extents.data());
  if (selects_inside(taken.get(), extents)) return;
  throw DataError(must + "lie inside its source \"" + source + "\", " +
                  number_list(std::vector<std::uint64_t>(extents.begin(), extents.end())) +
                  ", got elements up to " + last_of(taken.get()) +
                  "; write the virtual dataset anew");
}

}  // namespace headrace::inline v1::detail
