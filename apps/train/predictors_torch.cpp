#include <headrace/apps/train/predictors_torch.h>
#include <headrace/training/checkpoint_error.h>

#include <algorithm>
#include <map>
#include <utility>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* best_file = "best.safetensors";

// The files that a path stands for: itself, or of a run or a member of one those of its best
// weights.
std::vector<fs::path> files_of(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  if (fs::exists(path / best_file)) return {path / best_file};
  const fs::path members = fs::is_directory(path / "checkpoints") ? path / "checkpoints" : path;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(members))
    if (fs::exists(entry.path() / best_file) && fs::exists(entry.path() / "result.json"))
      files.push_back(entry.path() / best_file);
  std::ranges::sort(files);
  if (files.empty())
    throw training::CheckpointError(
        "[weights] " + path.string() + ": must hold a " + best_file +
        ", or folders of members that are done, has none; name the file of one that is not");
  return files;
}

Predictor read_predictor(const fs::path& file) {
  Predictor one{.file = file, .weights = training::read_best_weights(file)};
  one.member.name = one.note("member");
  one.member.index = std::stoll(one.note("member_index"));
  return one;
}

// Notes that are the same in all members of a run.
std::map<std::string, std::string> of_all_members(const Predictor& one) {
  std::map<std::string, std::string> notes = one.weights.notes;
  notes.erase("member");
  notes.erase("member_index");
  return notes;
}

}  // namespace

const std::string& Predictor::note(const std::string& name) const {
  const auto found = weights.notes.find(name);
  if (found != weights.notes.end()) return found->second;
  throw training::CheckpointError("[weights] " + file.string() + ": must have the note \"" + name +
                                  "\", has not; take a file that headrace train has written");
}

std::vector<Predictor> read_predictors(const std::vector<fs::path>& paths) {
  std::vector<Predictor> all;
  for (const fs::path& path : paths)
    for (const fs::path& file : files_of(path)) {
      all.push_back(read_predictor(file));
      if (of_all_members(all.back()) != of_all_members(all.front()))
        throw training::CheckpointError(
            "[weights] " + file.string() +
            ": weights that vote must be of one run, these were trained "
            "with another configuration or data than those of " +
            all.front().file.string());
    }
  const auto number = [](const Predictor& one) { return one.member.index; };
  std::ranges::sort(all, {}, number);
  const auto twice = std::ranges::adjacent_find(all, {}, number);
  if (twice != all.end())
    throw training::CheckpointError("[weights] each member must vote once, " + twice->member.name +
                                    " is there twice; name each file, or the run's folder");
  return all;
}

}  // namespace headrace::inline v1::app
