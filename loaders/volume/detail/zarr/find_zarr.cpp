#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/volume/detail/array/array_axes.h>
#include <headrace/loaders/volume/detail/array/json_text.h>
#include <headrace/loaders/volume/detail/voxel/length_unit.h>
#include <headrace/loaders/volume/detail/zarr/find_zarr.h>

#include <string_view>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

using Json = nlohmann::json;

/// The list of images; of version 0.5 one level down.
const Json& images_of(const Json& attributes) {
  const Json& newer = member(member(attributes, "ome"), "multiscales");
  const Json& images = newer.is_null() ? member(attributes, "multiscales") : newer;
  if (images.is_array() && !images.empty()) return images;
  throw DataError("a Zarr group must be an OME-Zarr image (\"multiscales\"), got " + shown(images) +
                  "; name the image or the array in it");
}

/// Millimetres of a unit of length; 1 where none is told.
double millimetres(const Json& unit) {
  if (unit.is_null()) return 1.0;
  const double factor = unit.is_string() ? millimetres_of(unit.get<std::string>()) : 0.0;
  if (factor > 0.0) return factor;
  throw DataError("the unit of an axis must be one of length such as micrometer, got " +
                  shown(unit));
}

/// An axis is text (before 0.4) or an object.
const Json& name_of_axis(const Json& axis) {
  return axis.is_string() ? axis : member(axis, "name");
}

std::vector<std::string> axes_of(const Json& axes) {
  if (axes.is_null()) return {};
  if (!axes.is_array() || axes.size() < 2 || axes.size() > ArrayAxes::most_rank)
    throw DataError("\"axes\" must be a list of 2 to 5, got " + shown(axes));
  std::vector<std::string> names;
  for (const Json& axis : axes) {
    const Json& name = name_of_axis(axis);
    if (!name.is_string()) throw DataError("an axis must have a name, got " + shown(axis));
    names.push_back(name.get<std::string>());
  }
  return names;
}

/// Where a name of an axis of space stands in a spacing.
std::size_t place_of(std::string_view axis) {
  return axis == "z" ? 0 : axis == "y" ? 1 : axis == "x" ? 2 : 3;
}

double axis_number(const Json& list, const char* what, std::size_t axis, std::size_t rank) {
  if (!list.is_array() || list.size() != rank || !list[axis].is_number()) {
    throw DataError(std::string("\"") + what + "\" must be a list of " + std::to_string(rank) +
                    " numbers, got " + shown(list));
  }
  return list[axis].get<double>();
}

/// Steps of scale and translation, applied in their order.
void apply(const Json& steps, const std::vector<std::string>& axes, OmeScale& scale) {
  if (!steps.is_array()) return;
  for (const Json& step : steps) {
    const Json& type = member(step, "type");
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      const std::size_t at = place_of(axes[axis]);
      if (at > 2) continue;
      if (type == "scale") {
        const double factor = axis_number(member(step, "scale"), "scale", axis, axes.size());
        scale.spacing[at] *= factor;
        scale.origin[at] *= factor;
      } else if (type == "translation") {
        scale.origin[at] +=
            axis_number(member(step, "translation"), "translation", axis, axes.size());
      } else if (type != "identity") {
        throw DataError("a coordinate transformation must be scale or translation, got " +
                        shown(type));
      }
    }
  }
}

}  // namespace

OmeScale read_multiscales(const Json& attributes) {
  const Json& image = images_of(attributes)[0];
  const Json& scales = member(image, "datasets");
  if (!scales.is_array() || scales.empty())
    throw DataError("\"datasets\" of \"multiscales\" must be a list of scales, got " +
                    shown(scales));
  OmeScale scale;
  scale.path = text_member(scales[0], "path");
  const Json& axes = member(image, "axes");
  scale.axes = axes_of(axes);
  apply(member(scales[0], "coordinateTransformations"), scale.axes, scale);
  apply(member(image, "coordinateTransformations"), scale.axes, scale);
  for (std::size_t axis = 0; axis < scale.axes.size(); ++axis) {
    const std::size_t at = place_of(scale.axes[axis]);
    if (at > 2) continue;
    const double unit = millimetres(member(axes[axis], "unit"));
    scale.spacing[at] *= unit;
    scale.origin[at] *= unit;
  }
  return scale;
}

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
