#include <headrace/apps/feed/plan_table.h>
#include <headrace/apps/task/volume_set.h>
#include <headrace/apps/terminal/progress.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/volume/open_volume.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

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
  options.on_changed = [](std::int64_t files) {
    log_table(LogLevel::warning, fmt::format("[data] {} files of volumes were changed since they "
                                             "were prepared; their cases are prepared anew",
                                             files));
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

}  // namespace headrace::inline v1::app
