#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/engine/base/internal/json_fields.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/file/file_descriptor.h>
#include <headrace/loaders/file/file_identity.h>
#include <headrace/loaders/volume/detail/array/json_text.h>
#include <headrace/loaders/volume/detail/case/prepared_record.h>
#include <headrace/loaders/volume/detail/store/chunk_store_format.h>
#include <headrace/loaders/volume/nifti_volume.h>
#include <headrace/loaders/volume/volume_limits.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace headrace::inline v1 {

void fields(of_type<PreparedCase> auto& prepared, const auto& field) {
  field("extent", prepared.extent);
  field("spacing", prepared.spacing);
  field("original_extent", prepared.original_extent);
  field("original_spacing", prepared.original_spacing);
  field("original_affine", prepared.original_affine);
  field("crop_begin", prepared.crop_begin);
  field("crop_end", prepared.crop_end);
  field("placed_together", prepared.placed_together);
}

}  // namespace headrace::inline v1

namespace headrace::inline v1::detail {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int record_version = 3;  // 2 had lengths of other units, and TIFF pages in their order
constexpr std::uint64_t most_record = 1 << 20;

/// Null where there is no file with something in it.
Json file_mark(const fs::path& file) {
  try {
    const FileStamp stamp = file_stamp(file);
    if (stamp.bytes == 0) return {};
    return {{"file", file.filename().native()},
            {"bytes", stamp.bytes},
            {"time", stamp.modified_ns},
            {"sample", content_sample(file)}};
  } catch (const ResourceError&) {
    throw;
  } catch (const Error&) {
    return {};
  }
}

/// Of all that lie in a folder that is a volume, however many; null where it cannot be listed.
Json folder_mark(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder, failed), end; !failed && at != end;
       at.increment(failed)) {
    std::error_code none;
    if (!at->is_directory(none))
      files.push_back(at->path().lexically_relative(folder).native() + '\0');
  }
  if (failed || files.empty()) return {};
  std::ranges::sort(files);
  std::string all;
  for (const std::string& file : files)
    all += file;
  const auto file = [&](std::size_t i) { return folder / files[i].c_str(); };
  return {{"folder", folder.filename().native()},
          {"files", files.size()},
          {"names", hash_name(all)},
          {"mark", mark_of_files(files.size(), file)}};
}

/// Null where the file is not there.
Json mark_of(const fs::path& path) {
  std::error_code none;
  if (fs::is_directory(path, none)) return folder_mark(path);
  Json mark = file_mark(path);
  const fs::path partner = nifti_partner(path);
  if (!mark.is_null() && !partner.empty()) mark["partner"] = file_mark(partner);
  return mark;
}

/// Of a chunk store that was written: its header has checksums of the index and thereby of all
/// chunks. A null mark where it is not whole.
struct StoreLook {
  Json mark{};
  std::array<std::int64_t, 3> extent{};
};

StoreLook look_at_store(const fs::path& file) {
  std::array<std::byte, ChunkStoreFormat::page> page;
  const FileDescriptor open(file.c_str());
  const std::int64_t got = pread_all(open.number(), page.data(), page.size(), 0);
  if (got != static_cast<std::int64_t>(page.size())) return {};
  try {
    const ChunkStoreHeader header = ChunkStoreHeader::decode(page);
    if (header.file_bytes != open_stamp(open.number()).bytes) return {};
    const auto& [channels, depth, rows, columns] = header.info.shape;
    return {.mark = {{"bytes", header.file_bytes},
                     {"fingerprint", header.fingerprint},
                     {"page", checksum_of(page)}},
            .extent = {depth, rows, columns}};
  } catch (const DataError&) {
    return {};
  }
}

/// Whether the file is what the record says, whole, and of the sides that the record states.
bool vouched(const Json& mark, const fs::path& file, const PreparedCase& made) {
  const StoreLook store = look_at_store(file);
  return !mark.is_null() && mark == store.mark && made.extent == store.extent;
}

/// Whether the crop lies in the image that it was cut from, as far as the record says.
bool has_crop_inside(const PreparedCase& made) {
  bool inside = true;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    inside = inside && made.crop_begin[axis] >= 0 && made.crop_begin[axis] < made.crop_end[axis] &&
             made.crop_end[axis] <= made.original_extent[axis] &&
             made.original_extent[axis] <= VolumeLimits{}.extent;
  }
  return inside;
}

PreparedCase case_of(const Json& json, const PreparedFiles& files) {
  PreparedCase made{.name = files.name, .image = files.image};
  if (!json.at("made_from").at("label").is_null()) made.label = files.label;
  read_fields(json, made);
  return made;
}

/// Null where none of this version can be read.
Json record_in(const PreparedFiles& files) {
  try {
    const std::string text = read_whole_text(files.record, "prepare volumes", most_record);
    if (text.empty()) return {};
    Json json = read_json(text);
    return json.at("prepared_case") == record_version ? json : Json();
  } catch (const Error&) {
    return {};
  } catch (const Json::exception&) {
    return {};
  }
}

}  // namespace

std::string made_from(const NnUNetCase& of, const VolumePreparation& preparation,
                      const PrepareOptions& options) {
  Json images = Json::array();
  for (const fs::path& image : of.images) {
    images.push_back(mark_of(image));
    if (images.back().is_null()) return {};
  }
  Json label = of.label.empty() ? Json() : mark_of(of.label);
  if (!of.label.empty() && label.is_null()) return {};
  const Json json{{"images", std::move(images)},
                  {"label", std::move(label)},
                  {"preparation", Json::parse(to_string(preparation))},
                  {"chunk", options.chunk},
                  {"values", options.values}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string record_text(const PreparedCase& prepared, const std::string& made_from) {
  auto json = write_fields<Json>(prepared);
  json["prepared_case"] = record_version;
  json["name"] = prepared.name;
  json["image"] = look_at_store(prepared.image).mark;
  json["label"] = prepared.label.empty() ? Json() : look_at_store(prepared.label).mark;
  json["made_from"] = Json::parse(made_from);
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<PreparedCase> read_record(const PreparedFiles& files, const std::string& made_from) {
  if (made_from.empty()) return {};
  try {
    const Json json = record_in(files);
    if (json.is_null() || json.at("made_from").dump() != made_from) return {};
    PreparedCase made = case_of(json, files);
    if (!has_crop_inside(made) || !vouched(json.at("image"), files.image, made)) return {};
    if (!made.label.empty() && !vouched(json.at("label"), files.label, made)) return {};
    return made;
  } catch (const Json::exception&) {
    return {};
  }
}

std::int64_t changed_files(const PreparedFiles& files, const std::string& made_from) {
  try {
    const Json before = record_in(files).value("made_from", Json::object());
    const Json now = Json::parse(made_from);
    std::int64_t changed = before.at("label") != now.at("label") ? 1 : 0;
    const Json& images = now.at("images");
    for (std::size_t i = 0; i < images.size(); ++i)
      changed += before.at("images").at(i) != images.at(i) ? 1 : 0;
    return changed;
  } catch (const Json::exception&) {
    return 0;
  }
}

}  // namespace headrace::inline v1::detail
