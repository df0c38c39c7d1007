#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/hdf5/detail/chunk/chunk_guard.h>
#include <headrace/loaders/hdf5/detail/dataset/describe_parts.h>
#include <headrace/loaders/hdf5/detail/dataset/virtual_selection.h>
#include <headrace/loaders/hdf5/detail/library/library_budget.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>

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

}  // namespace headrace::inline v1::detail
