#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/loaders/volume/detail/json_text.h>
#include <headrace/loaders/volume/detail/prepared_record.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace headrace::inline v1::detail {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int version = 1;
constexpr std::uint64_t most_record = 1 << 20;

std::uint64_t bytes_of(const fs::path& file) {
  std::error_code none;
  const std::uintmax_t bytes = fs::file_size(file, none);
  return none ? 0 : bytes;
}

/// A file, or all that lie in a folder that is a volume; of a NIfTI header its voxels, too.
std::vector<fs::path> files_of(const fs::path& path) {
  std::error_code none;
  std::vector<fs::path> files{path};
  if (fs::is_directory(path, none)) {
    for (const auto& entry : fs::recursive_directory_iterator(path, none))
      files.push_back(entry.path());
  }
  if (path.extension() == ".hdr") files.push_back(fs::path(path).replace_extension(".img"));
  std::ranges::sort(files);
  return files;
}

Json marks_of(const fs::path& path) {
  Json marks = Json::array();
  for (const fs::path& file : files_of(path)) {
    std::error_code none;
    const auto time = fs::last_write_time(file, none);
    marks.push_back({{"file", file.lexically_relative(path.parent_path()).native()},
                     {"bytes", bytes_of(file)},
                     {"time", none ? 0 : time.time_since_epoch().count()}});
  }
  return marks;
}

const char* name_of(VolumeNormalization::Scheme scheme) {
  constexpr std::array names{"none", "zscore", "zscore_nonzero", "ct", "zero_to_one", "by_255"};
  return names[static_cast<std::size_t>(scheme)];
}

Json json_of(const VolumePreparation& preparation) {
  Json channels = Json::array();
  for (const VolumeNormalization& channel : preparation.channels) {
    Json one{{"scheme", name_of(channel.scheme)}};
    if (channel.scheme == VolumeNormalization::Scheme::ct) {
      one["low"] = channel.low;
      one["high"] = channel.high;
      one["mean"] = channel.mean;
      one["deviation"] = channel.deviation;
    }
    channels.push_back(std::move(one));
  }
  return {{"spacing", preparation.spacing},
          {"crop", preparation.crop},
          {"channels", std::move(channels)}};
}

PreparedCase case_of(const Json& json, const PreparedFiles& files) {
  PreparedCase made{.name = files.name, .image = files.image};
  if (json.at("label_bytes").get<std::uint64_t>() > 0) made.label = files.label;
  json.at("extent").get_to(made.extent);
  json.at("spacing").get_to(made.spacing);
  json.at("original_extent").get_to(made.original_extent);
  json.at("original_spacing").get_to(made.original_spacing);
  json.at("original_affine").get_to(made.original_affine);
  json.at("crop_begin").get_to(made.crop_begin);
  json.at("crop_end").get_to(made.crop_end);
  return made;
}

}  // namespace

std::string made_from(const NnUNetCase& of, const VolumePreparation& preparation,
                      const PrepareOptions& options) {
  Json images = Json::array();
  for (const fs::path& image : of.images)
    images.push_back(marks_of(image));
  const Json json{{"images", std::move(images)},
                  {"label", of.label.empty() ? Json() : marks_of(of.label)},
                  {"preparation", json_of(preparation)},
                  {"chunk", options.chunk},
                  {"values", options.values}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string record_text(const PreparedCase& prepared, const std::string& made_from) {
  const Json json{{"prepared_case", version},
                  {"name", prepared.name},
                  {"image_bytes", bytes_of(prepared.image)},
                  {"label_bytes", prepared.label.empty() ? 0 : bytes_of(prepared.label)},
                  {"extent", prepared.extent},
                  {"spacing", prepared.spacing},
                  {"original_extent", prepared.original_extent},
                  {"original_spacing", prepared.original_spacing},
                  {"original_affine", prepared.original_affine},
                  {"crop_begin", prepared.crop_begin},
                  {"crop_end", prepared.crop_end},
                  {"made_from", Json::parse(made_from)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<PreparedCase> read_record(const PreparedFiles& files, const std::string& made_from) {
  try {
    const std::string text = read_whole_text(files.record, "prepare volumes", most_record);
    if (text.empty()) return {};
    const Json json = read_json(text);
    if (json.at("prepared_case") != version || json.at("made_from").dump() != made_from) return {};
    PreparedCase made = case_of(json, files);
    if (json.at("image_bytes") != bytes_of(files.image)) return {};
    if (!made.label.empty() && json.at("label_bytes") != bytes_of(files.label)) return {};
    return made;
  } catch (const Error&) {
    return {};
  } catch (const Json::exception&) {
    return {};
  }
}

}  // namespace headrace::inline v1::detail
