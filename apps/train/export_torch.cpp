#include <headrace/apps/train/export_torch.h>
#include <headrace/apps/train/prediction_text.h>
#include <headrace/apps/train/predictors_torch.h>
#include <headrace/engine/base/error.h>
#include <headrace/training/safetensors.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

// Those notes that are of use where nothing of the run is known.
constexpr const char* kept_notes[] = {"task",        "network",       "classes",
                                      "class_names", "normalisation", "member"};

training::TensorFile exported(const Predictor& one) {
  training::TensorFile file{.tensors = one.weights.weights, .metadata = {{"format", "pt"}}};
  const auto& notes = one.weights.notes;
  for (const char* name : kept_notes)
    if (const auto found = notes.find(name); found != notes.end()) file.metadata.insert(*found);
  if (!one.weights.selected_by.empty()) file.metadata["selected_by"] = one.weights.selected_by;
  if (const auto transient = notes.find("transient"); transient != notes.end())
    for (const std::string& name : words_of_note("transient", transient->second))
      file.tensors.erase(name);
  return file;
}

std::vector<Predictor> wanted(const ExportOptions& options) {
  std::vector<Predictor> all = read_predictors({options.run});
  if (!options.member) return all;
  std::string numbers;
  for (const Predictor& one : all)
    numbers += (numbers.empty() ? "" : ", ") + std::to_string(one.member.index);
  std::erase_if(all, [&](const Predictor& one) { return one.member.index != *options.member; });
  if (all.empty())
    throw ConfigError("[export] --member must be that of a member with weights, got " +
                      std::to_string(*options.member) + "; " + options.run.string() + " has " +
                      numbers);
  return all;
}

// "net.safetensors", of several members "net-fold-0.safetensors".
fs::path file_of(const ExportOptions& options, const Predictor& one, bool alone) {
  fs::path file = options.output;
  if (file.empty())
    file = (fs::is_directory(options.run) ? options.run : options.run.parent_path()) /
           "model.safetensors";
  if (alone) return file;
  const std::string extension = file.extension().string();
  return file.replace_filename(file.stem().string() + '-' + one.member.name + extension);
}

}  // namespace

ExitCode export_weights(const ExportOptions& options) {
  const std::vector<Predictor> all = wanted(options);
  for (const Predictor& one : all) {
    const fs::path path = file_of(options, one, all.size() == 1);
    const training::TensorFile file = exported(one);
    training::write_safetensors(path, file);
    std::printf("%s: %zu tensors of %s\n", path.c_str(), file.tensors.size(), one.file.c_str());
  }
  return ExitCode::done;
}

}  // namespace headrace::inline v1::app
