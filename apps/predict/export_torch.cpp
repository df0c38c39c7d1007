#include <headrace/apps/backend/ensemble_torch.h>
#include <headrace/apps/backend/recipe_notes.h>
#include <headrace/apps/predict/predict_torch.h>
#include <headrace/apps/task/channel_statistics.h>
#include <headrace/engine/base/error.h>
#include <headrace/models/networks/script_network.h>
#include <headrace/training/checkpoint/safetensors.h>

#include <cstdio>
#include <string>
#include <system_error>
#include <vector>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* script_extension = ".torchscript";

// Those notes that are of use where nothing of the run is known.
constexpr const char* kept_notes[] = {"task",          "network", "classes", "class_names",
                                      "normalisation", "member",  "array",   "labels"};

training::TensorFile exported(const Predictor& one) {
  training::TensorFile file{.tensors = one.weights.weights, .metadata = {{"format", "pt"}}};
  const auto& notes = one.weights.notes;
  for (const char* name : kept_notes)
    if (const auto found = notes.find(name); found != notes.end()) file.metadata.insert(*found);
  if (const auto by = file.metadata.find("normalisation"); by != file.metadata.end())
    by->second = normalisation_of(by->second, one.member.index);
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

// Of a network from TorchScript: adds its tensors' second names, which a strict load in Python
// wants, to the file, and writes the script with the member's weights.
void export_script(const fs::path& path, const Ensemble& ensemble, training::TensorFile& file) {
  std::error_code failed;
  const std::string& original = ensemble.members().front().note("torchscript");
  if (fs::equivalent(path, original, failed))
    throw ConfigError("[export] --output must leave the script that was trained, " + original +
                      ", as it is; name another file");
  const Team team = ensemble.ready();
  models::Network& network = team.voters().front().network;
  for (const models::ScriptAlias& alias : models::script_aliases(network))
    if (const auto found = file.tensors.find(alias.of); found != file.tensors.end())
      file.tensors.emplace(alias.name, found->second);
  models::save_script(network, path);
  std::printf("%s: the network as TorchScript\n", path.c_str());
}

// "net.safetensors", of several members "net-fold-0.safetensors".
fs::path file_of(const ExportOptions& options, const Predictor& one, bool alone) {
  fs::path file = options.output;
  if (file.extension() == script_extension)
    throw ConfigError(
        "[export] --output must name the safetensors file, the TorchScript file has "
        "its name with " +
        std::string(script_extension) + "; got " + file.string());
  if (file.empty())
    file = (fs::is_directory(options.run) ? options.run : options.run.parent_path()) /
           "model.safetensors";
  if (alone) return file;
  const std::string extension = file.extension().string();
  return file.replace_filename(file.stem().string() + '-' + one.member.name + extension);
}

}  // namespace

ExitCode export_weights(const ExportOptions& options, const std::vector<Job>& jobs,
                        const MakeRecipe& make_recipe) {
  const std::vector<Predictor> all = wanted(options);
  for (const Predictor& one : all) {
    const fs::path path = file_of(options, one, all.size() == 1);
    training::TensorFile file = exported(one);
    if (one.weights.notes.contains("torchscript"))
      export_script(fs::path(path).replace_extension(script_extension),
                    Ensemble({.checkpoints = {one.file}, .device = "cpu"}, jobs, make_recipe),
                    file);
    training::write_safetensors(path, file);
    std::printf("%s: %zu tensors of %s, %s\n", path.c_str(), file.tensors.size(),
                one.note("network").c_str(), one.file.c_str());
  }
  return ExitCode::done;
}

}  // namespace headrace::inline v1::app
