#include <headrace/apps/task/volume_records.h>
#include <headrace/apps/terminal/progress.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/volume/open_volume.h>

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

void check_channels(const NnUNetRaw& raw, const VolumeSettings& volume) {
  const std::size_t said = volume.preparation.channels.size();
  if (said == 1 || said == raw.channels.size()) return;
  throw ConfigError(fmt::format(
      "[config] volume.normalise must have an entry for each of {} channels ({}), or one for all, "
      "got {}",
      raw.channels.size(), fmt::join(raw.channels, ", "), said));
}

void check_classes(const VolumeRecords& records, const VolumeSettings& volume) {
  const auto count = static_cast<std::int64_t>(records.classes.size());
  for (const std::int64_t label : volume.sampling.classes) {
    if (label >= 0 && label < count && label != records.ignore) continue;
    throw ConfigError(
        fmt::format("[config] volume.sampling.classes must be labels of classes, 0 to {}, got {}",
                    count - 1, label));
  }
}

// A case's files before there is a cache for them.
struct OpenedFiles {
  std::shared_ptr<const Volume> image{};
  std::shared_ptr<const Volume> label{};  // null: it has none
};

std::uint64_t decoded_bytes(const std::shared_ptr<const Volume>& volume) {
  if (!volume) return 0;
  return static_cast<std::uint64_t>(voxels_of(volume->info().grid())) *
         volume->info().block_bytes();
}

VolumeCase open_case(const PreparedCase& prepared, const OpenedFiles& files,
                     const std::shared_ptr<BlockCache>& cache, const ForegroundOptions& options) {
  VolumeCase made{.name = prepared.name,
                  .images = {std::make_shared<const CachedVolume>(files.image, cache)}};
  if (!files.label) return made;
  made.label = std::make_shared<const CachedVolume>(files.label, cache);
  made.foreground = std::make_shared<const ForegroundIndex>(
      ForegroundIndex::of_file(*made.label, prepared.label, options));
  return made;
}

fs::path labels_beside(const fs::path& images) {
  const fs::path beside = labels_folder(images);
  std::error_code none;
  return fs::is_directory(beside, none) ? beside : fs::path();
}

}  // namespace

// A preparation's own, so that two configurations of the same data do not undo each other's.
fs::path prepared_folder(const fs::path& data, const VolumeSettings& volume) {
  std::error_code none;
  const fs::path found = fs::weakly_canonical(data, none);
  const fs::path whole = found.has_filename() ? found : found.parent_path();
  const std::string apart = whole.string() + '\n' + to_string(volume.preparation);
  return volume.store /
         fmt::format("{}-{:08x}", whole.filename().string(), hash_name(apart) & 0xffffffffU);
}

std::vector<PreparedCase> prepare_volumes(const std::vector<NnUNetCase>& cases,
                                          PrepareOptions options,
                                          const VolumePreparation& preparation) {
  Progress view("prepare", static_cast<std::int64_t>(cases.size()), "volumes");
  options.on_progress = [&](std::int64_t done, std::int64_t kept, std::int64_t all) {
    if (kept < all) view.show(done, kept);
  };
  std::vector<PreparedCase> prepared = prepare_cases(cases, preparation, options);
  view.end();
  return prepared;
}

std::int64_t VolumeSet::channels() const {
  std::int64_t channels = 0;
  if (cases.empty()) return 0;
  for (const auto& image : cases.front().images)
    channels += image->info().shape[0];
  return channels;
}

std::size_t VolumeSet::resident_bytes() const {
  std::size_t bytes = cache ? cache->most_bytes() : 0;
  for (const VolumeCase& one : cases) {
    for (const auto& image : one.images)
      bytes += image->volume().resident_bytes();
    if (one.label) bytes += one.label->volume().resident_bytes();
    if (one.foreground) bytes += one.foreground->resident_bytes();
  }
  return bytes;
}

std::vector<std::string> volume_classes(const NnUNetRaw& raw) {
  if (raw.regions())
    throw ConfigError(fmt::format(
        "[data] {}: classes must not overlap, got regions (dataset.json has labels of several "
        "values); give each value a label of its own",
        raw.folder.string()));
  std::vector<std::string> classes(raw.labels.size());
  for (const NnUNetLabel& label : raw.labels)
    classes.at(static_cast<std::size_t>(label.values.front())) = label.name;
  return classes;
}

VolumeSettings naming_labels(VolumeSettings volume, std::int64_t classes) {
  constexpr std::int64_t most_unnamed = 256;
  std::vector<std::int64_t>& labels = volume.sampling.classes;
  if (!labels.empty() || classes <= most_unnamed) return volume;
  for (std::int64_t label = 1; label < classes; ++label)
    labels.push_back(label);
  return volume;
}

VolumeSet open_prepared(std::vector<PreparedCase> prepared, const VolumeSettings& volume,
                        std::optional<std::int64_t> ignore) {
  std::vector<OpenedFiles> files;
  std::uint64_t all = 0;
  for (const PreparedCase& one : prepared) {
    OpenedFiles& opened = files.emplace_back();
    opened.image = open_volume(one.image);
    if (!one.label.empty()) opened.label = open_volume(one.label);
    all += decoded_bytes(opened.image) + decoded_bytes(opened.label);
  }
  // A forecast counts the cache as full.
  VolumeSet set{.prepared = std::move(prepared),
                .cache = std::make_shared<BlockCache>(std::min(volume.cache.value, all))};
  for (std::size_t i = 0; i < files.size(); ++i)
    set.cases.push_back(open_case(set.prepared[i], files[i], set.cache,
                                  {.labels = volume.sampling.classes, .ignore = ignore}));
  return set;
}

VolumeRecords open_volume_records(const OpenVolumes& what, const VolumeSettings& volume) {
  if (what.folder.empty())
    throw ConfigError(
        "[config] data.train.folder must name a folder with imagesTr, labelsTr and dataset.json, "
        "got nothing");
  const NnUNetRaw raw = read_nnunet_raw(what.folder);
  VolumeRecords records{.classes = volume_classes(raw), .ignore = raw.ignore};
  check_channels(raw, volume);
  check_classes(records, volume);
  if (!what.split.group.empty())
    throw ConfigError(
        "[config] data.split.group names a column of a manifest, but volumes have none; leave it "
        "out, or keep what belongs together in one data set");
  records.members =
      split_records({.size = static_cast<std::int64_t>(raw.cases.size())}, what.split, what.seed);
  records.set = open_prepared(
      prepare_volumes(raw.cases,
                      {.folder = prepared_folder(raw.folder, volume),
                       .threads = what.threads,
                       .values = raw.values()},
                      volume.preparation),
      naming_labels(volume, static_cast<std::int64_t>(records.classes.size())), records.ignore);
  return records;
}

fs::path labels_folder(const fs::path& images) {
  constexpr std::string_view begin = "images";
  const std::string name = images.filename().string();
  if (!name.starts_with(begin)) return {};
  return images.parent_path() / ("labels" + name.substr(begin.size()));
}

std::vector<NnUNetCase> find_volume_cases(const fs::path& data, std::size_t channels, bool judged,
                                          const fs::path& labels) {
  if (!is_nnunet_raw(data))
    return list_nnunet_cases(data, channels, labels.empty() ? labels_beside(data) : labels);
  NnUNetRaw raw = read_nnunet_raw(data);
  if (raw.channels.size() != channels)
    throw ConfigError(fmt::format("[data] {}: must have {} channels as the data trained on, got {}",
                                  data.string(), channels, raw.channels.size()));
  if (judged) return raw.cases;
  if (raw.test.empty())
    throw ConfigError(fmt::format(
        "[data] {}: must have images in imagesTs to predict, has none; name a folder of images",
        data.string()));
  const fs::path beside = labels.empty() ? labels_beside(raw.folder / "imagesTs") : labels;
  std::error_code none;
  for (NnUNetCase& one : raw.test) {
    const fs::path label = beside / (one.name + raw.file_ending);
    if (!beside.empty() && fs::exists(label, none)) one.label = label;
  }
  return raw.test;
}

}  // namespace headrace::inline v1::app
