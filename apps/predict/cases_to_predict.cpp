#include <headrace/apps/predict/cases_to_predict.h>
#include <headrace/apps/predict/output_folder.h>
#include <headrace/apps/predict/predicted_volume.h>
#include <headrace/apps/task/volume_set.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/loaders/volume/plain_volumes.h>

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

// Where it lies, and where what it links to does.
void add_folders(const fs::path& file, std::set<fs::path>& folders) {
  std::error_code failed;
  folders.insert(file.parent_path());
  folders.insert(fs::weakly_canonical(file, failed).parent_path());
}

bool is_empty(const NnUNetCase& one) {
  return std::ranges::all_of(one.images, is_zero_everywhere);
}

std::vector<NnUNetCase> without_labels(std::vector<NnUNetCase> cases) {
  for (NnUNetCase& one : cases)
    one.label.clear();
  return cases;
}

}  // namespace

void require_apart_of_cases(const fs::path& output, const std::vector<NnUNetCase>& cases) {
  std::set<fs::path> images, labels;
  for (const NnUNetCase& one : cases) {
    for (const fs::path& image : one.images)
      add_folders(image, images);
    if (!one.label.empty()) add_folders(one.label, labels);
    const fs::path beside = labels_beside(one.images.front().parent_path());
    if (!beside.empty()) labels.insert(beside);
  }
  for (const fs::path& folder : images)
    require_apart(output, folder, "volume");
  for (const fs::path& folder : labels)
    require_apart(output, folder, "label");
}

void require_shapes_of_labels(const std::vector<NnUNetCase>& cases) {
  for (const NnUNetCase& one : cases) {
    if (one.label.empty()) continue;
    VolumeIndex wanted = open_volume(one.images.front())->info().shape;
    wanted[0] = 1;
    const VolumeIndex got = open_volume(one.label)->info().shape;
    if (got != wanted)
      throw DataError(fmt::format(
          "[predict] {}: a label must have its image's shape, {}x{}x{} and one channel, got "
          "{}x{}x{} and {}; correct it, or name another folder with --labels",
          one.label.string(), wanted[1], wanted[2], wanted[3], got[1], got[2], got[3], got[0]));
  }
}

CasesToPredict prepare_to_predict(std::vector<NnUNetCase> cases, const PrepareOptions& options,
                                  const VolumePreparation& preparation) {
  CasesToPredict made{.cases = std::move(cases)};
  try {
    made.prepared = prepare_volumes(without_labels(made.cases), options, preparation);
  } catch (const DataError&) {
    const auto [from, end] = std::ranges::stable_partition(
        made.cases, [](const NnUNetCase& one) { return !is_empty(one); });
    made.empty.assign(from, end);
    if (made.empty.empty()) throw;
    made.cases.erase(from, end);
    made.prepared = prepare_volumes(without_labels(made.cases), options, preparation);
  }
  return made;
}

void require_predictable(const std::vector<PreparedCase>& prepared,
                         const VolumeDecision& decision) {
  if (decision.smallest <= 1 && !decision.largest_only) return;
  constexpr double most = 2147483648.0;
  for (const PreparedCase& one : prepared) {
    double voxels = 1.0;
    for (std::size_t axis = 0; axis < 3; ++axis)
      voxels *= static_cast<double>(one.crop_end[axis] - one.crop_begin[axis]);
    if (voxels < most) continue;
    throw ConfigError(fmt::format(
        "[predict] case {}: predict.smallest and predict.largest_only need a crop of fewer than "
        "2^31 voxels, got {:.0f}; divide the image, or take weights that were trained without them",
        one.name, voxels));
  }
}

}  // namespace headrace::inline v1::app
