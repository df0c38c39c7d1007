#include <headrace/apps/pack/pack_volume_list.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/nifti_volume.h>

#include <algorithm>
#include <map>
#include <string>
#include <system_error>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

std::string name_without_suffix(const fs::path& path) {
  const std::string name = path.filename().string();
  for (const std::string suffix : {".nii.gz", ".hdr.gz", ".ome.zarr", ".zarr"})
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  return fs::is_directory(path) ? name : path.stem().string();
}

/// What lies beside volumes and is none.
bool is_aside(const fs::path& path) {
  const std::string name = path.filename().string();
  if (name.starts_with('.')) return true;
  for (const std::string suffix :
       {".partial", ".headrace-foreground", ".headrace-index", ".json", ".img", ".img.gz"})
    if (name.ends_with(suffix)) return true;
  return false;
}

bool is_same(const fs::path& a, const fs::path& b) {
  std::error_code none;
  return fs::equivalent(a, b, none);
}

/// Throws ConfigError where writing `to` would change what is read.
void check_apart(const VolumeWork& work) {
  const fs::path partner = nifti_partner(work.from);
  std::error_code none;
  fs::path folder = fs::weakly_canonical(work.to, none).parent_path();
  bool inside = false;
  if (fs::is_directory(work.from)) {
    for (; !inside && folder != folder.root_path() && !folder.empty();
         folder = folder.parent_path())
      inside = is_same(folder, work.from);
  }
  if (inside || is_same(work.from, work.to) || (!partner.empty() && is_same(partner, work.to))) {
    throw ConfigError("[pack] OUTPUT must not be a part of INPUT, got " + work.to.string() +
                      " for " + work.from.string() + "; name another file");
  }
}

std::vector<VolumeWork> list_folder(const fs::path& input, const fs::path& output) {
  if (!fs::is_directory(input)) {
    throw ConfigError("[pack] with --each INPUT must be a folder of volumes, got " +
                      input.string());
  }
  if (is_same(input, output)) {
    throw ConfigError("[pack] with --each OUTPUT must be another folder than INPUT, got " +
                      output.string() + " for both");
  }
  std::vector<VolumeWork> work;
  std::map<std::string, fs::path> taken;
  for (const fs::directory_entry& entry : fs::directory_iterator(input)) {
    const fs::path& from = entry.path();
    if (is_aside(from) || is_same(from, output)) continue;
    const std::string name = name_without_suffix(from) + ".hrv";
    const auto [other, is_new] = taken.emplace(name, from);
    if (!is_new) {
      throw ConfigError("[pack] every volume must have a name of its own, got " +
                        other->second.filename().string() + " and " + from.filename().string() +
                        ", both of which would become " + name);
    }
    work.push_back({from, output / name});
  }
  std::sort(work.begin(), work.end(),
            [](const VolumeWork& a, const VolumeWork& b) { return a.to < b.to; });
  if (work.empty()) throw ConfigError("[pack] " + input.string() + " must hold volumes, got none");
  fs::create_directories(output);
  return work;
}

}  // namespace

std::vector<VolumeWork> list_volumes(const fs::path& input, const fs::path& output, bool each) {
  std::vector<VolumeWork> work =
      each ? list_folder(input, output) : std::vector<VolumeWork>{{input, output}};
  for (const VolumeWork& one : work)
    check_apart(one);
  return work;
}

}  // namespace headrace::inline v1::app
