#include <headrace/apps/predict/output_folder.h>
#include <headrace/apps/predict/volume_output.h>
#include <headrace/apps/run/make_folder.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/loaders/volume/write_prediction.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <system_error>
#include <utility>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* hidden_name = ".headrace-prepared";
// In it: names of files beside it, a line each. No case has such a name.
constexpr const char* list_name = ".written";

// Whether nothing is in the folder but what a stopped prediction has left.
bool left_by_stopped(const fs::path& folder) {
  std::error_code failed;
  if (!fs::is_directory(folder / hidden_name, failed)) return false;
  std::set<std::string> known{hidden_name};
  std::ifstream list(folder / hidden_name / list_name);
  for (std::string name; std::getline(list, name);)
    known.insert(name);
  return std::all_of(fs::directory_iterator(folder), fs::directory_iterator(),
                     [&](const fs::directory_entry& entry) {
                       return known.contains(entry.path().filename().string());
                     });
}

}  // namespace

VolumeOutput::VolumeOutput(fs::path folder, bool overwrite)
    : folder_(std::move(folder)), hidden_(folder_ / hidden_name) {
  require_output_folder(folder_, overwrite || left_by_stopped(folder_), "a volume", "case");
  make_folder("predict", hidden_);
}

VolumeOutput::~VolumeOutput() {
  if (stays_) return;
  std::error_code failed;
  fs::remove_all(hidden_, failed);
}

void VolumeOutput::write(const fs::path& name, const PredictedVolume& volume) {
  note(name);
  write_prediction(folder_ / name, volume.info, volume.voxels);
}

void VolumeOutput::write(const fs::path& name, const std::string& text) {
  note(name);
  write_file_atomically(folder_ / name, text);
}

void VolumeOutput::leave_out(const fs::path& name) const {
  fs::remove(folder_ / name);
}

void VolumeOutput::note(const fs::path& name) const {
  std::ofstream list(hidden_ / list_name, std::ios::app);
  list << name.string() << '\n' << std::flush;
  if (!list)
    throw ResourceError("[predict] " + hidden_.string() + ": cannot be written to; free its disk");
}

}  // namespace headrace::inline v1::app
