#include <headrace/loaders/hdf5/detail/dataset/describe_parts.h>
#include <headrace/loaders/hdf5/detail/file/global_heap.h>
#include <headrace/loaders/hdf5/detail/helper/helper_messages.h>

#include <algorithm>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

void put(WireWriter& to, const Shape& shape) {
  to.list(std::vector<std::int64_t>(shape.extents().begin(), shape.extents().end()));
}

std::vector<std::int64_t> take_extents(WireReader& from) {
  auto extents = from.list<std::int64_t>();
  const bool counts = std::ranges::all_of(extents, [](std::int64_t extent) { return extent >= 0; });
  WireReader::require(counts && extents.size() <= std::size_t{Shape::max_rank});
  return extents;
}

DType take_dtype(WireReader& from) {
  const auto number = from.value<std::uint8_t>();
  WireReader::require(number <= static_cast<std::uint8_t>(DType::boolean));
  return static_cast<DType>(number);
}

std::size_t product(std::size_t first, const std::vector<std::int64_t>& extents) {
  for (const std::int64_t extent : extents)
    first = checked_product(first, static_cast<std::size_t>(extent));
  return first;
}

void put(WireWriter& to, const ChunkStore& store) {
  const ChunkGrid::Layout layout = store.grid.layout();
  to.list(std::vector<std::uint64_t>(layout.extents.begin(), layout.extents.end()));
  to.list(std::vector<std::uint64_t>(layout.chunk.begin(), layout.chunk.end()));
  to.value(std::uint64_t{store.codec.filters().size()});
  for (const ChunkFilter& filter : store.codec.filters()) {
    to.value(filter.id);
    to.list(filter.values);
  }
  to.message.reserve(to.message.size() + store.places.size() * sizeof(ChunkPlace) + 4096);
  to.list(store.places);
  to.list(store.fill);
  to.value(store.raw_edges);
}

/// The grid of a dataset whose shape is known: its extents are the dataset's.
ChunkGrid take_grid(WireReader& from, const Hdf5Dataset& dataset) {
  const auto extents = from.list<std::uint64_t>();
  const auto chunk = from.list<std::uint64_t>();
  std::vector<std::uint64_t> all(dataset.leading.begin(), dataset.leading.end());
  for (const std::int64_t extent : dataset.row.extents())
    all.push_back(static_cast<std::uint64_t>(extent));
  const bool positive = std::ranges::all_of(chunk, [](std::uint64_t along) { return along > 0; });
  WireReader::require(extents == all && chunk.size() == all.size() && positive &&
                      all.size() <= ChunkGrid::max_rank);
  std::size_t bytes = size_of(dataset.dtype);
  for (const std::uint64_t along : chunk)
    bytes = checked_product(bytes, along);
  WireReader::require(bytes == dataset.chunk_bytes);
  return ChunkGrid({.extents = extents,
                    .chunk = chunk,
                    .leading = dataset.leading.size(),
                    .element_bytes = size_of(dataset.dtype)});
}

std::shared_ptr<const ChunkStore> take_store(WireReader& from, const Hdf5Dataset& dataset,
                                             std::uint64_t file_bytes) {
  const ChunkGrid grid = take_grid(from, dataset);
  std::vector<ChunkFilter> filters(std::min<std::uint64_t>(from.value<std::uint64_t>(), 64));
  for (ChunkFilter& filter : filters) {
    filter.id = from.value<int>();
    filter.values = from.list<std::uint32_t>();
    WireReader::require(ChunkCodec::knows(filter.id));
  }
  ChunkStore store{grid, ChunkCodec(std::move(filters), dataset.chunk_bytes), {}, {}, false};
  store.places = from.list<ChunkPlace>();
  store.fill = from.list<std::byte>();
  store.raw_edges = from.flag();
  WireReader::require(store.places.size() == grid.chunks() && !store.fill.empty() &&
                      dataset.chunk_bytes % store.fill.size() == 0);
  require_places(store.places, file_bytes, store.codec.filtered() ? 0 : dataset.chunk_bytes,
                 store.codec.most_stored());
  return std::make_shared<const ChunkStore>(std::move(store));
}

}  // namespace

void put(WireWriter& to, const DatasetRequest& request) {
  to.text(request.field);
  to.text(request.path);
  to.value(request.axes);
  to.value(request.all_axes);
  to.value(std::uint64_t{request.memory});
  to.value(request.by_library);
}

DatasetRequest take_request(WireReader& from) {
  DatasetRequest request{.field = from.text(), .path = from.text()};
  request.axes = from.value<int>();
  request.all_axes = from.flag();
  request.memory = from.value<std::uint64_t>();
  request.by_library = from.flag();
  return request;
}

void put(WireWriter& to, const Hdf5Dataset& dataset) {
  to.text(dataset.field);
  to.text(dataset.path);
  to.value(dataset.dtype);
  to.value(dataset.swap);
  to.value(dataset.text);
  to.list(dataset.leading);
  put(to, dataset.row);
  to.value(std::uint64_t{dataset.chunk_bytes});
  to.value(dataset.chunk_extent);
  to.value(dataset.offset);
  to.text(dataset.library);
  to.value(dataset.ragged.has_value());
  if (dataset.ragged) {
    to.value(dataset.ragged->dtype);
    to.value(dataset.ragged->swap);
  }
  to.value(dataset.base);
  to.value(std::uint64_t{dataset.number});
  to.value(dataset.chunks != nullptr);
  if (dataset.chunks) put(to, *dataset.chunks);
}

Hdf5Dataset take_dataset(WireReader& from, const DatasetRequest& request,
                         std::uint64_t file_bytes) {
  Hdf5Dataset dataset;
  dataset.field = from.text();
  dataset.path = from.text();
  dataset.dtype = take_dtype(from);
  dataset.swap = from.flag();
  dataset.text = from.flag();
  dataset.leading = take_extents(from);
  const std::vector<std::int64_t> row = take_extents(from);
  dataset.row = Shape(std::span(row));
  dataset.row_bytes = product(size_of(dataset.dtype), row);
  dataset.rows = static_cast<std::int64_t>(product(1, dataset.leading));
  dataset.bytes = product(dataset.row_bytes, dataset.leading);
  dataset.chunk_bytes = from.value<std::uint64_t>();
  dataset.chunk_extent = from.value<std::int64_t>();
  dataset.offset = from.value<std::uint64_t>();
  dataset.library = from.text();
  if (from.flag()) dataset.ragged = {.dtype = take_dtype(from), .swap = from.flag()};
  dataset.base = from.value<std::uint64_t>();
  dataset.number = from.value<std::uint64_t>();
  WireReader::require(dataset.field == request.field && dataset.path == request.path &&
                      !dataset.leading.empty() && dataset.row_bytes > 0 &&
                      dataset.chunk_extent > 0 && dataset.chunk_bytes <= request.memory);
  WireReader::require(!dataset.ragged ||
                      (dataset.dtype == DType::uint8 && dataset.library.empty() &&
                       dataset.row_bytes == HeapReference::stored_bytes));
  if (from.flag()) dataset.chunks = take_store(from, dataset, file_bytes);
  const bool in_one_piece = !dataset.chunks && dataset.library.empty() && dataset.bytes > 0;
  WireReader::require(!in_one_piece || (dataset.offset <= file_bytes &&
                                        dataset.bytes <= file_bytes - dataset.offset));
  return dataset;
}

void put(WireWriter& to, const std::vector<Hdf5Attribute>& attributes) {
  to.value(std::uint64_t{attributes.size()});
  for (const Hdf5Attribute& attribute : attributes) {
    to.text(attribute.object);
    to.text(attribute.name);
    to.text(attribute.text);
    to.texts(attribute.texts);
    to.value(attribute.value.defined());
    if (!attribute.value.defined()) continue;
    to.value(attribute.value.dtype());
    put(to, attribute.value.shape());
    to.text({static_cast<const char*>(attribute.value.raw()), attribute.value.bytes()});
  }
}

std::vector<Hdf5Attribute> take_attributes(WireReader& from) {
  std::vector<Hdf5Attribute> attributes;
  for (auto left = from.value<std::uint64_t>(); left > 0; --left) {
    Hdf5Attribute attribute{.object = from.text(), .name = from.text()};
    attribute.text = from.text();
    attribute.texts = from.texts();
    if (from.flag()) {
      const DType dtype = take_dtype(from);
      const std::vector<std::int64_t> extents = take_extents(from);
      const std::string bytes = from.text();
      WireReader::require(product(size_of(dtype), extents) == bytes.size());
      attribute.value = Tensor::empty(dtype, Shape(std::span(extents)));
      std::ranges::copy(bytes, static_cast<char*>(attribute.value.raw()));
    }
    attributes.push_back(std::move(attribute));
  }
  return attributes;
}

}  // namespace headrace::inline v1::detail
