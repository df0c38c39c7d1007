#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/volume/detail/array/array_axes.h>
#include <headrace/loaders/volume/detail/array/json_text.h>
#include <headrace/loaders/volume/detail/zarr/zarr_array.h>

#include <algorithm>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

using Json = nlohmann::json;

ByteCodecs codecs_of(const Json& compressor) {
  if (compressor.is_null()) return ByteCodecs();
  const std::string& id = text_member(compressor, "id");
  constexpr std::pair<std::string_view, ByteCodec> known[] = {{"blosc", ByteCodec::blosc},
                                                              {"zstd", ByteCodec::zstd},
                                                              {"gzip", ByteCodec::gzip},
                                                              {"zlib", ByteCodec::zlib},
                                                              {"lz4", ByteCodec::lz4}};
  for (const auto& [name, codec] : known)
    if (id == name) return ByteCodecs({codec});
  throw DataError("the compressor must be blosc, zstd, gzip, zlib, lz4 or null, got " +
                  detail::quoted(id) + "; write the array with one of these");
}

}  // namespace

std::string ZarrArray::key(const std::vector<std::int64_t>& place) const {
  std::string name = prefix;
  for (std::size_t axis = 0; axis < place.size(); ++axis) {
    if (axis > 0) name += separator;
    name += std::to_string(place[axis]);
  }
  return name;
}

ZarrArray read_zarr_v2(const Json& json) {
  if (member(json, "zarr_format") != 2)
    throw DataError("\"zarr_format\" must be 2, got " + shown(member(json, "zarr_format")));
  ZarrArray array;
  array.shape = whole_numbers(member(json, "shape"), "shape", 1, 2, ArrayAxes::most_rank);
  const std::size_t rank = array.shape.size();
  array.chunk = whole_numbers(member(json, "chunks"), "chunks", 1, rank, rank);
  array.file = array.chunk;
  array.type = numpy_type(text_member(json, "dtype"));
  array.fill = fill_value(member(json, "fill_value"), array.type.dtype);
  const Json& filters = member(json, "filters");
  if (!filters.is_null() && !(filters.is_array() && filters.empty())) {
    throw DataError("\"filters\" must be null, got " + shown(filters) +
                    "; write the array without filters");
  }
  array.codecs = codecs_of(member(json, "compressor"));
  array.order = row_order(rank);
  const Json& order = member(json, "order");
  if (order == "F")
    std::reverse(array.order.begin(), array.order.end());
  else if (order != "C")
    throw DataError("\"order\" must be \"C\" or \"F\", got " + shown(order));
  const Json& separator = member(json, "dimension_separator");
  if (separator == "/")
    array.separator = '/';
  else if (!separator.is_null() && separator != ".")
    throw DataError("\"dimension_separator\" must be \".\" or \"/\", got " + shown(separator));
  return array;
}

}  // namespace headrace::inline v1::detail
