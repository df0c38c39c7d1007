#include <headrace/training/best_weights.h>
#include <headrace/training/checkpoint.h>
#include <headrace/training/checkpoint_error.h>
#include <headrace/training/safetensors.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <ATen/ops/tensor.h>
#include <nlohmann/json.hpp>

namespace headrace::inline v1::training {

namespace {

using nlohmann::json;

// JSON has no NaN: null stands for a value that is not a number.
json from_figures(const Figures& figures) {
  json list = json::array();
  for (const auto& [name, value] : figures)
    list.push_back({name, std::isfinite(value) ? json(value) : json(nullptr)});
  return list;
}

Figures to_figures(const json& list) {
  Figures figures;
  for (const json& entry : list) {
    const json& value = entry.at(1);
    figures.emplace_back(
        entry.at(0).get<std::string>(),
        value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>());
  }
  return figures;
}

json from_tensors(const TensorMap& tensors) {
  json all = json::object();
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor values = tensor.to(at::kCPU, at::kDouble).contiguous();
    const double* first = values.const_data_ptr<double>();
    all[name] = {{"shape", values.sizes().vec()},
                 {"values", std::vector<double>(first, first + values.numel())}};
  }
  return all;
}

TensorMap to_tensors(const json& all) {
  TensorMap tensors;
  for (const auto& [name, entry] : all.items())
    tensors.emplace(name, at::tensor(entry.at("values").get<std::vector<double>>(), at::kDouble)
                              .view(entry.at("shape").get<std::vector<std::int64_t>>()));
  return tensors;
}

std::string take(std::map<std::string, std::string>& words, const std::string& name) {
  auto found = words.extract(name);
  return found.empty() ? std::string() : std::move(found.mapped());
}

BestWeights from_checkpoint(const std::filesystem::path& path) {
  Checkpoint checkpoint = read_checkpoint(path);
  return {.weights = std::move(checkpoint.weights),
          .epoch = checkpoint.progress.epoch,
          .fitted = std::move(checkpoint.fitted),
          .notes = std::move(checkpoint.notes)};
}

}  // namespace

void write_best_weights(const std::filesystem::path& path, const BestWeights& best) {
  TensorFile file{.tensors = best.weights, .metadata = best.notes};
  file.metadata["epoch"] = std::to_string(best.epoch);
  file.metadata["selected_by"] = best.selected_by;
  file.metadata["validation"] = from_figures(best.validation).dump();
  file.metadata["fitted"] = from_tensors(best.fitted).dump();
  write_safetensors(path, file);
}

BestWeights read_best_weights(const std::filesystem::path& path) {
  TensorFile file = read_safetensors(path);
  if (file.metadata.contains("headrace.crc32")) return from_checkpoint(path);
  BestWeights best{.weights = std::move(file.tensors), .notes = std::move(file.metadata)};
  if (!best.notes.contains("selected_by")) return best;
  try {
    best.epoch = std::stoll(take(best.notes, "epoch"));
    best.selected_by = take(best.notes, "selected_by");
    best.validation = to_figures(json::parse(take(best.notes, "validation")));
    best.fitted = to_tensors(json::parse(take(best.notes, "fitted")));
  } catch (const std::exception& error) {
    throw CheckpointError("[weights] " + path.string() +
                          ": the header cannot be read: " + error.what());
  }
  return best;
}

}  // namespace headrace::inline v1::training
