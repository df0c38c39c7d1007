#include <array>
#include <map>
#include <string>
#include <utility>

#include <headrace/engine/error.h>
#include <headrace/loaders/hdf5/detail/describe_parts.h>
#include <headrace/loaders/hdf5/detail/virtual_selection.h>

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
  throw DataError("is virtual and names its sources by the pattern \"" + name +
                  "\", which is refused; name every source");
}

/// As if the source were read alone.
void describe_source(const Hdf5File& source, const DatasetRequest& request,
                     const std::string& dataset) {
  ChunkIndexes none(source, false);
  try {
    describe_dataset(source,
                     {.field = request.field,
                      .path = dataset,
                      .all_axes = true,
                      .memory = request.memory,
                      .by_library = true,
                      .source = true},
                     none);
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
      describe_source(source, request, dataset);
      space =
          spaces.emplace(std::pair(name, dataset), open_dataset(source, dataset).getSpace()).first;
    }
    require_inside(creation, i, name + ":" + dataset, space->second);
  }
}

}  // namespace headrace::inline v1::detail
