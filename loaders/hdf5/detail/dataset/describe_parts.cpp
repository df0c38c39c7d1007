#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/detail/dataset/describe_parts.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::detail {
namespace {

/// Part of the library itself: for any other one it would look for a plugin and run it.
constexpr std::array filters_inside{
    H5Z_FILTER_DEFLATE, H5Z_FILTER_SHUFFLE,     H5Z_FILTER_FLETCHER32,
    H5Z_FILTER_NBIT,    H5Z_FILTER_SCALEOFFSET,
#ifdef H5_HAVE_FILTER_SZIP
    H5Z_FILTER_SZIP,
#endif
};

bool inside(int filter) {
  return std::ranges::find(filters_inside, filter) != filters_inside.end();
}

std::vector<ChunkFilter> filters_of(const H5::DSetCreatPropList& creation,
                                    const Hdf5Dataset& dataset) {
  std::vector<ChunkFilter> filters;
  for (int i = 0; i < creation.getNfilters(); ++i) {
    constexpr std::size_t most_values = 64;
    unsigned flags = 0, settings = 0;
    std::size_t values = most_values;
    std::array<unsigned, most_values> value{};
    const H5Z_filter_t id = H5Pget_filter2(creation.getId(), static_cast<unsigned>(i), &flags,
                                           &values, value.data(), 0, nullptr, &settings);
    if (id < 0) throw DataError("has a filter that cannot be told; the file is damaged");
    values = std::min(values, most_values);
    // The library tells a shuffle of references no element size, and skips it.
    if (dataset.ragged && id == H5Z_FILTER_SHUFFLE && values == 0) value[values++] = 1;
    filters.push_back({id, {value.begin(), value.begin() + static_cast<std::ptrdiff_t>(values)}});
  }
  return filters;
}

/// Whether the filters are undone here; throws when nobody can.
bool native(const std::vector<ChunkFilter>& filters, bool by_library) {
  const auto ours = [](const ChunkFilter& filter) { return ChunkCodec::knows(filter.id); };
  if (!by_library && std::ranges::all_of(filters, ours)) return true;
  for (const ChunkFilter& filter : filters) {
    if (inside(filter.id)) continue;
    const std::string way = ours(filter) ? "choose another residence than library"
                                         : "rewrite it with h5repack -f GZIP=4 or -f NONE";
    throw DataError("is stored with filter " + std::to_string(filter.id) +
                    ", which the library has only as a plugin; plugins are not loaded, " + way);
  }
  return false;
}

/// The library takes it out of the file unseen.
int fill_time_of(const H5::DSetCreatPropList& creation) {
  static_assert(sizeof(H5D_fill_time_t) == sizeof(int));
  int when = H5D_FILL_TIME_ERROR;
  H5Pget_fill_time(creation.getId(), reinterpret_cast<H5D_fill_time_t*>(&when));
  if (when < H5D_FILL_TIME_ALLOC || when > H5D_FILL_TIME_IFSET) {
    throw DataError("has a fill time that there is not (" + std::to_string(when) +
                    "); the file is damaged");
  }
  return when;
}

/// One element as the library would fill it in, as stored.
std::vector<std::byte> fill_of(const H5::DataSet& data, const H5::DSetCreatPropList& creation,
                               const Hdf5Dataset& dataset) {
  const H5::DataType type = data.getDataType();
  std::vector<std::byte> fill(type.getSize());
  H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
  H5Pfill_value_defined(creation.getId(), &defined);
  if (fill_time_of(creation) == H5D_FILL_TIME_NEVER || defined != H5D_FILL_VALUE_USER_DEFINED)
    return fill;
  if (dataset.ragged) throw DataError("has a fill value of variable length; rewrite it without");
  if (H5Pget_fill_value(creation.getId(), type.getId(), fill.data()) < 0)
    throw DataError("has a fill value that cannot be read; the file is damaged");
  return fill;
}

/// Everything that the places of the chunks depend on.
std::string key_of(const Hdf5Dataset& dataset, const std::vector<std::uint64_t>& extents,
                   const std::vector<std::uint64_t>& chunk,
                   const std::vector<ChunkFilter>& filters) {
  std::string key = dataset.path + "|" + std::string(name_of(dataset.dtype));
  for (const auto* numbers : {&extents, &chunk}) {
    key += "|";
    for (const std::uint64_t number : *numbers)
      key += std::to_string(number) + ",";
  }
  key += "|";
  for (const ChunkFilter& filter : filters)
    key += std::to_string(filter.id) + ",";
  return key;
}

bool raw_edges(const H5::DSetCreatPropList& creation) {
  unsigned options = 0;
  return H5Pget_chunk_opts(creation.getId(), &options) >= 0 &&
         (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) != 0;
}

std::size_t checked_chunk_bytes(const std::vector<std::uint64_t>& chunk, const Hdf5Dataset& dataset,
                                std::size_t memory) {
  std::size_t bytes = size_of(dataset.dtype);
  for (const std::uint64_t extent : chunk)
    bytes = checked_product(bytes, extent);
  if (bytes <= memory && bytes > 0) return bytes;
  throw DataError("is stored in chunks of " + std::to_string(bytes) + " bytes, over the limit of " +
                  std::to_string(memory) +
                  "; raise the memory of the table or rewrite it with smaller chunks");
}

}  // namespace

std::size_t most_indexed_chunks(std::size_t memory, std::uint64_t file_bytes) {
  // An index takes at most a part of what the chunks themselves may take, and where hardly any of
  // them was ever written no more than the file, or 4 MiB.
  const std::size_t of_memory = std::max(memory, std::size_t{64} << 20) / 64;
  return std::min(of_memory,
                  std::max<std::size_t>(file_bytes, std::size_t{4} << 20) / sizeof(ChunkPlace));
}

void describe_chunks(const DescribedPart& part, ChunkIndexes& indexes, Hdf5Dataset& dataset) {
  std::array<hsize_t, H5S_MAX_RANK> along{};
  const int rank = part.creation.getChunk(H5S_MAX_RANK, along.data());
  const std::size_t axes = part.data.getSpace().getSimpleExtentNdims();
  if (rank < 1 || static_cast<std::size_t>(rank) != axes) {
    throw DataError("is stored in chunks of " + std::to_string(rank) + " axes but has " +
                    std::to_string(axes) + "; the file is damaged");
  }
  std::vector<std::uint64_t> chunk(along.begin(), along.begin() + rank);
  chunk.insert(chunk.end(), part.extents.begin() + rank, part.extents.end());
  const std::size_t bytes = checked_chunk_bytes(chunk, dataset, part.request.memory);
  dataset.chunk_bytes = bytes;
  dataset.chunk_extent = static_cast<std::int64_t>(along[0]);
  const std::vector<ChunkFilter> filters = filters_of(part.creation, dataset);
  const bool by_library = part.request.by_library && !dataset.ragged;
  const ChunkGrid grid({.extents = part.extents,
                        .chunk = chunk,
                        .leading = dataset.leading.size(),
                        .element_bytes = size_of(dataset.dtype)});
  if (!native(filters, by_library)) {
    dataset.library = by_library ? "is chunked" : "is chunked with a rare filter";
  } else if (grid.chunks() > most_indexed_chunks(part.request.memory, part.file.size())) {
    dataset.library =
        "has " + std::to_string(grid.chunks()) + " chunks, more than can be indexed in its memory";
  }
  ChunkStore store{grid, ChunkCodec(filters, bytes), {}, {}, raw_edges(part.creation)};
  if (!dataset.library.empty()) {
    dataset.guarded = std::make_shared<const ChunkStore>(std::move(store));
    return;
  }
  store.places = indexes.places(part.data, grid, key_of(dataset, part.extents, chunk, filters));
  require_places(store.places, part.file.size(), filters.empty() ? bytes : 0,
                 store.codec.most_stored());
  store.fill = fill_of(part.data, part.creation, dataset);
  normalise(store.fill.data(), store.fill.size() / size_of(dataset.dtype), dataset.dtype,
            dataset.swap);
  dataset.chunks = std::make_shared<const ChunkStore>(std::move(store));
}

namespace {

herr_t encode(hid_t list, void* to, std::size_t& bytes) {
#if H5_VERSION_GE(1, 12, 0)
  return H5Pencode2(list, to, &bytes, H5P_DEFAULT);
#else
  return H5Pencode(list, to, &bytes);
#endif
}

/// How many bytes the file stores of a fill value. The library gives it only as an element, but
/// writes its size where it writes the whole list: behind the name and two times, a byte each.
std::uint64_t stored_bytes(const H5::DSetCreatPropList& creation) {
  static constexpr std::string_view name{"fill_value\0", 11};
  const H5::DSetCreatPropList alone;  // nothing else in it comes from the file
  std::size_t bytes = 0;
  std::string text;
  if (H5Pcopy_prop(alone.getId(), creation.getId(), name.data()) >= 0 &&
      encode(alone.getId(), nullptr, bytes) >= 0) {
    text.resize(bytes);
    if (encode(alone.getId(), text.data(), bytes) < 0) text.clear();
  }
  std::uint64_t stored = 0;
  const auto at = text.find(name);
  if (at == std::string::npos || text.size() - at < name.size() + 2 + sizeof(stored))
    throw DataError("has a fill value whose size cannot be told; the file is damaged");
  std::memcpy(&stored, text.data() + at + name.size() + 2, sizeof(stored));
  return stored;
}

}  // namespace

void require_fill(const DescribedPart& part) {
  H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
  H5Pfill_value_defined(part.creation.getId(), &defined);
  const H5::DataType type = part.data.getDataType();
  if (defined != H5D_FILL_VALUE_USER_DEFINED || H5Tdetect_class(type.getId(), H5T_VLEN) > 0 ||
      H5Tis_variable_str(type.getId()) > 0)
    return;
  const std::uint64_t stored = stored_bytes(part.creation);
  if (stored == type.getSize()) return;
  throw DataError("must have a fill value of " + std::to_string(type.getSize()) +
                  " bytes, as an element has, got " + std::to_string(stored) +
                  "; the file is damaged, copy it again");
}

namespace {

/// The library holds neither the one size against the other: where less is stored it would deliver
/// what lies behind it, of a compact dataset in memory, of one in one piece in the file.
void require_stored(const H5::DataSet& data, const Hdf5Dataset& dataset) {
  const hsize_t stored = data.getStorageSize();
  if (stored == dataset.bytes) return;
  throw DataError("must store the " + std::to_string(dataset.bytes) +
                  " bytes that its extents declare, got " + std::to_string(stored) +
                  "; the file is damaged, copy it again");
}

}  // namespace

void describe_compact(const DescribedPart& part, Hdf5Dataset& dataset) {
  if (dataset.bytes > 0) require_stored(part.data, dataset);
  dataset.library = "is compact";
}

void describe_contiguous(const DescribedPart& part, Hdf5Dataset& dataset) {
  if (dataset.bytes == 0) return;
  H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
  part.data.getSpaceStatus(status);
  if (status == H5D_SPACE_STATUS_NOT_ALLOCATED) {
    dataset.library = "was never written (it reads as its fill value)";
    return;
  }
  require_stored(part.data, dataset);
  dataset.offset = part.data.getOffset();
  std::uint64_t end = 0;
  if (__builtin_add_overflow(dataset.offset, dataset.bytes, &end) || end > part.file.end()) {
    throw DataError("ends at byte " + std::to_string(end) + " but the file at " +
                    std::to_string(part.file.end()) +
                    (part.file.end() < part.file.size() ? ", as it says itself" : "") +
                    "; the file is truncated or damaged, copy it again");
  }
}

}  // namespace headrace::inline v1::detail
