#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/volume/detail/array/array_axes.h>
#include <headrace/loaders/volume/detail/array/json_text.h>
#include <headrace/loaders/volume/detail/zarr/zarr_array.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

using Json = nlohmann::json;

/// The name of an extension point, which may stand alone.
const std::string& name_of_part(const Json& part) {
  return part.is_string() ? part.get_ref<const std::string&>() : text_member(part, "name");
}

const Json& settings_of(const Json& part) {
  return member(part, "configuration");
}

const Json& codec_list(const Json& codecs, const char* what) {
  constexpr std::size_t most = 16;
  if (codecs.is_array() && !codecs.empty() && codecs.size() <= most) return codecs;
  throw DataError(std::string("\"") + what + "\" must be a list of 1 to 16 codecs, got " +
                  shown(codecs));
}

/// Whether the codec "bytes" stores numbers in the other order than the machine's.
bool swaps(const Json& codec) {
  const Json& endian = member(settings_of(codec), "endian");
  if (endian == "big") return true;
  if (endian == "little" || endian.is_null()) return false;
  throw DataError("\"endian\" must be \"little\" or \"big\", got " + shown(endian));
}

/// An axis of what was stored before for each axis of what is stored.
void transpose(const Json& codec, std::vector<std::size_t>& order) {
  const std::size_t rank = order.size();
  const Json& value = member(settings_of(codec), "order");
  const auto axes = whole_numbers(value, "order", 0, rank, rank);
  std::vector<std::size_t> moved;
  for (const std::int64_t axis : axes) {
    const auto from = static_cast<std::size_t>(axis);
    if (from >= rank || std::count(axes.begin(), axes.end(), axis) != 1) {
      throw DataError("\"order\" of transpose must name each axis once, got " + shown(value));
    }
    moved.push_back(order[from]);
  }
  order = std::move(moved);
}

ByteCodec byte_codec(const std::string& name) {
  constexpr std::pair<std::string_view, ByteCodec> known[] = {{"blosc", ByteCodec::blosc},
                                                              {"zstd", ByteCodec::zstd},
                                                              {"gzip", ByteCodec::gzip},
                                                              {"crc32c", ByteCodec::crc32c}};
  for (const auto& [codec_name, codec] : known)
    if (name == codec_name) return codec;
  throw DataError(
      "the codecs must be transpose, bytes, gzip, zstd, blosc, crc32c and "
      "sharding_indexed, each in its place, got " +
      detail::quoted(name) + "; write the array with these");
}

/// The codecs of a chunk: transposes, how numbers become bytes, what becomes of the bytes.
void read_codecs(const Json& codecs, ZarrArray& array) {
  std::vector<ByteCodec> behind;
  bool bytes = false;
  for (const Json& codec : codec_list(codecs, "codecs")) {
    const std::string& name = name_of_part(codec);
    if (bytes) {
      behind.push_back(byte_codec(name));
    } else if (name == "transpose") {
      transpose(codec, array.order);
    } else if (name == "bytes") {
      array.type.swap = swaps(codec) && array.type.size() > 1;
      bytes = true;
    } else {
      byte_codec(name);
      throw DataError("the codec bytes must come before " + detail::quoted(name));
    }
  }
  if (!bytes) throw DataError("the codecs must have one that is named bytes, got none");
  array.codecs = ByteCodecs(std::move(behind));
}

ZarrShardIndex read_shard_index(const Json& settings) {
  ZarrShardIndex index;
  const Json& location = member(settings, "index_location");
  index.at_start = location == "start";
  if (!location.is_null() && location != "start" && location != "end")
    throw DataError("\"index_location\" must be \"start\" or \"end\", got " + shown(location));
  const Json& codecs = codec_list(member(settings, "index_codecs"), "index_codecs");
  for (std::size_t i = 0; i < codecs.size(); ++i) {
    const std::string& name = name_of_part(codecs[i]);
    if (i == 0 && name == "bytes") {
      index.swap = swaps(codecs[i]);
    } else if (i == 1 && name == "crc32c") {
      index.checksum = true;
    } else {
      throw DataError("\"index_codecs\" must be bytes and crc32c, got " + detail::quoted(name) +
                      " at " + std::to_string(i));
    }
  }
  return index;
}

/// Of a chunk of its own, or of a shard of chunks.
void read_storage(const Json& codecs, ZarrArray& array) {
  const Json& first = codec_list(codecs, "codecs")[0];
  if (name_of_part(first) != "sharding_indexed") return read_codecs(codecs, array);
  if (codecs.size() != 1) {
    throw DataError("sharding_indexed must be the only codec around its chunks, got " +
                    detail::quoted(name_of_part(codecs[1])) + " behind it");
  }
  const Json& settings = settings_of(first);
  const std::size_t rank = array.file.size();
  array.chunk = whole_numbers(member(settings, "chunk_shape"), "chunk_shape", 1, rank, rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (array.file[axis] % array.chunk[axis] != 0) {
      throw DataError("\"chunk_shape\" of sharding_indexed must divide the shard's " +
                      std::to_string(array.file[axis]) + " elements, got " +
                      std::to_string(array.chunk[axis]));
    }
  }
  array.sharded = true;
  array.index = read_shard_index(settings);
  read_codecs(member(settings, "codecs"), array);
}

void read_keys(const Json& encoding, ZarrArray& array) {
  const std::string& name = name_of_part(encoding);
  if (name != "default" && name != "v2") {
    throw DataError("\"chunk_key_encoding\" must be default or v2, got " + detail::quoted(name));
  }
  const Json& separator = member(settings_of(encoding), "separator");
  array.separator = name == "default" ? '/' : '.';
  if (separator == "/" || separator == ".")
    array.separator = separator == "/" ? '/' : '.';
  else if (!separator.is_null())
    throw DataError("\"separator\" must be \".\" or \"/\", got " + shown(separator));
  if (name == "default") array.prefix = std::string("c") + array.separator;
}

/// What a reader need not know says so.
void require_known_members(const Json& json) {
  constexpr std::string_view known[] = {"zarr_format",
                                        "node_type",
                                        "shape",
                                        "data_type",
                                        "chunk_grid",
                                        "codecs",
                                        "fill_value",
                                        "attributes",
                                        "chunk_key_encoding",
                                        "dimension_names",
                                        "dimension_separator",
                                        "storage_transformers",
                                        "consolidated_metadata"};
  for (const auto& [name, value] : json.items()) {
    const bool optional = member(value, "must_understand") == false;
    if (optional || std::find(std::begin(known), std::end(known), name) != std::end(known))
      continue;
    throw DataError("the metadata must have no extension, got " + detail::quoted(name));
  }
  const Json& transformers = member(json, "storage_transformers");
  if (!transformers.is_null() && !(transformers.is_array() && transformers.empty()))
    throw DataError("\"storage_transformers\" must be empty, got " + shown(transformers));
}

}  // namespace

ZarrArray read_zarr_v3(const Json& json) {
  if (member(json, "zarr_format") != 3)
    throw DataError("\"zarr_format\" must be 3, got " + shown(member(json, "zarr_format")));
  require_known_members(json);
  ZarrArray array;
  array.shape = whole_numbers(member(json, "shape"), "shape", 1, 2, ArrayAxes::most_rank);
  const std::size_t rank = array.shape.size();
  const Json& grid = member(json, "chunk_grid");
  if (name_of_part(grid) != "regular")
    throw DataError("\"chunk_grid\" must be regular, got " + detail::quoted(name_of_part(grid)));
  array.file =
      whole_numbers(member(settings_of(grid), "chunk_shape"), "chunk_shape", 1, rank, rank);
  array.chunk = array.file;
  array.type.dtype = zarr_type(text_member(json, "data_type"));
  array.fill = fill_value(member(json, "fill_value"), array.type.dtype);
  array.order = row_order(rank);
  read_keys(member(json, "chunk_key_encoding"), array);
  read_storage(member(json, "codecs"), array);
  return array;
}

}  // namespace headrace::inline v1::detail
