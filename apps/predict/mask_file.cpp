#include <headrace/apps/plot/class_colours.h>
#include <headrace/apps/predict/mask_file.h>
#include <headrace/apps/predict/output_folder.h>
#include <headrace/apps/run/make_folder.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/engine/base/printable.h>
#include <headrace/loaders/image/png_writer.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

using Rgb = std::array<std::uint8_t, 3>;

std::vector<std::byte> colour_png(const PredictedMask& mask, const std::vector<Rgb>& colours) {
  std::vector<std::uint8_t> rgb;
  rgb.reserve(3 * mask.classes.size());
  for (const std::uint8_t one : mask.classes)
    rgb.insert(rgb.end(), colours[one].begin(), colours[one].end());
  return encode_png(rgb.data(), mask.width, mask.height);
}

template <class Value>
std::vector<Value> values_of(const PredictedMask& mask, const std::vector<std::uint16_t>& values) {
  std::vector<Value> stored(mask.classes.size());
  std::transform(mask.classes.begin(), mask.classes.end(), stored.begin(),
                 [&](std::uint8_t one) { return static_cast<Value>(values[one]); });
  return stored;
}

// Each class has its colour at its value.
std::vector<Rgb> palette_of(const std::vector<std::uint16_t>& values) {
  std::vector<Rgb> palette(256, Rgb{});
  for (std::size_t label = 0; label < values.size(); ++label) {
    const Colour colour = class_colour(static_cast<std::uint8_t>(label));
    palette[values[label]] = {colour.red, colour.green, colour.blue};
  }
  return palette;
}

}  // namespace

std::vector<std::byte> mask_png(const PredictedMask& mask, const MaskFormat& format) {
  const std::size_t known = std::max(format.values.size(), format.colours.size());
  const std::uint8_t largest = *std::max_element(mask.classes.begin(), mask.classes.end());
  if (largest >= known)
    throw ConfigError(fmt::format(
        "[predict] masks are written of {} classes, got class {} of a pixel", known, largest));
  if (!format.colours.empty()) return colour_png(mask, format.colours);
  if (*std::max_element(format.values.begin(), format.values.end()) > 255)
    return encode_grey16_png(values_of<std::uint16_t>(mask, format.values).data(), mask.width,
                             mask.height);
  return encode_palette_png(values_of<std::uint8_t>(mask, format.values).data(), mask.width,
                            mask.height, palette_of(format.values));
}

MaskFolder::MaskFolder(fs::path folder, bool overwrite) : folder_(std::move(folder)) {
  require_output_folder(folder_, overwrite, "a mask", "picture");
}

fs::path MaskFolder::file_of(const std::string& picture) {
  const std::string own = name_of_printable(picture);
  const bool is_path = own.find('\0') == std::string::npos;
  fs::path name = fs::path(is_path ? own : picture).relative_path().lexically_normal();
  if (name.empty() || *name.begin() == "..")
    throw DataError(fmt::format(
        "[predict] {}: a picture must lie below the folder of all, since its mask gets its name; "
        "copy it there",
        picture));
  name.replace_extension(".png");
  if (!written_.insert(name).second)
    throw DataError(
        fmt::format("[predict] {}: each picture must have a name of its own before its extension, "
                    "since its mask gets it, got a second one for {}; rename one of them",
                    picture, name.string()));
  return folder_ / name;
}

void MaskFolder::write(const std::string& picture, std::span<const std::byte> png) {
  const fs::path file = file_of(picture);
  make_folder("predict", file.parent_path());
  write_file_atomically(file, png, {.who = "predict"});
}

void MaskFolder::leave_out(const std::string& picture) {
  left_out_.push_back(file_of(picture));
}

void MaskFolder::finish() {
  for (const fs::path& file : left_out_) {
    std::error_code none;
    std::error_code failed;
    if (!fs::exists(fs::symlink_status(file, none))) continue;
    if (fs::is_directory(file, none) || !fs::remove(file, failed))
      throw ResourceError(fmt::format(
          "[predict] {}: must go, since its picture has no mask, and cannot be removed ({}); "
          "remove it, or name another folder",
          file.string(), failed ? failed.message() : "it is a folder"));
  }
  left_out_.clear();
}

}  // namespace headrace::inline v1::app
