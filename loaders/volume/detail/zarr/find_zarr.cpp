#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/volume/detail/array/json_text.h>
#include <headrace/loaders/volume/detail/zarr/find_zarr.h>

#include <utility>

namespace headrace::inline v1::detail {
namespace {

using Json = nlohmann::json;

std::optional<Json> metadata(const StoreFolder& folder, const char* file,
                             const VolumeLimits& limits) {
  const auto text = folder.text(file, limits.metadata_bytes);
  if (!text) return std::nullopt;
  return read_json(*text);
}

std::optional<ZarrArray> find_array(const StoreFolder& folder, const VolumeLimits& limits) {
  if (const auto json = metadata(folder, "zarr.json", limits)) {
    if (text_member(*json, "node_type") == "array") return read_zarr_v3(*json);
  } else if (const auto older = metadata(folder, ".zarray", limits)) {
    return read_zarr_v2(*older);
  }
  return std::nullopt;
}

/// Attributes of a group, of either version.
Json group_attributes(const StoreFolder& folder, const VolumeLimits& limits) {
  if (const auto json = metadata(folder, "zarr.json", limits)) return member(*json, "attributes");
  if (const auto json = metadata(folder, ".zattrs", limits)) return *json;
  if (folder.open(".zgroup")) return {};
  throw DataError(
      "must be a Zarr array or group, got a folder without zarr.json, .zarray and "
      ".zattrs");
}

}  // namespace

FoundZarr find_zarr(const StoreFolder& folder, const VolumeLimits& limits) {
  if (auto array = find_array(folder, limits)) return {folder, std::move(*array)};
  OmeScale scale = read_multiscales(group_attributes(folder, limits));
  StoreFolder below = folder.below(scale.path);
  auto array = find_array(below, limits);
  if (!array)
    throw DataError(detail::quoted(scale.path) + " of \"multiscales\" must be an array, got none");
  return {std::move(below), std::move(*array), std::move(scale)};
}

}  // namespace headrace::inline v1::detail
