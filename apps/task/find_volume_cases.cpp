#include <headrace/apps/task/find_volume_cases.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/loaders/volume/plain_volumes.h>

#include <string>
#include <system_error>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

fs::path known_labels(const fs::path& images) {
  const fs::path beside = labels_beside(images);
  std::error_code none;
  return fs::is_directory(beside, none) ? beside : fs::path();
}

// Whether all volumes' names end in the first channel's number, _0000.
bool is_numbered(const fs::path& images) {
  std::error_code failed;
  bool some = false;
  for (const fs::directory_entry& entry : fs::directory_iterator(images, failed)) {
    const std::string name = entry.path().filename().string();
    if (!is_named_as_volume(name) || name.starts_with('.')) continue;
    if (name.find("_0000.") == std::string::npos) return false;
    some = true;
  }
  return some || failed.value() != 0;  // whoever lists them says why
}

}  // namespace

std::vector<NnUNetCase> find_volume_cases(const fs::path& data, const CasesWanted& wanted) {
  const std::size_t channels = wanted.channels;
  const fs::path& labels = wanted.labels;
  if (!is_nnunet_raw(data)) {
    const auto pairs = plain_volumes_in(data);
    if (pairs && wanted.judged && channels == 1)
      return list_plain_volumes(*pairs, /*all_labelled=*/true);
    const fs::path images = pairs ? pairs->images : data;
    const fs::path known = labels.empty() ? known_labels(images) : labels;
    if (channels == 1 && !is_numbered(images))
      return list_plain_volumes({.images = images, .labels = known}, /*all_labelled=*/false);
    return list_nnunet_cases(images, channels, known, wanted.follow_links);
  }
  NnUNetRaw raw = read_nnunet_raw(data, wanted.follow_links);
  if (raw.channels.size() != channels)
    throw ConfigError(fmt::format("[data] {}: must have {} channels as the data trained on, got {}",
                                  data.string(), channels, raw.channels.size()));
  if (wanted.judged) return raw.cases;
  if (raw.test.empty())
    throw ConfigError(fmt::format(
        "[data] {}: must have images in imagesTs to predict, has none; name a folder of images",
        data.string()));
  const fs::path beside = labels.empty() ? known_labels(raw.folder / "imagesTs") : labels;
  std::error_code none;
  for (NnUNetCase& one : raw.test) {
    const fs::path label = beside / (one.name + raw.file_ending);
    if (!beside.empty() && fs::symlink_status(label, none).type() != fs::file_type::not_found)
      one.label = label;
  }
  return raw.test;
}

}  // namespace headrace::inline v1::app
