#include <headrace/engine/base/internal/json_fields.h>
#include <headrace/training/checkpoint/best_weights.h>
#include <headrace/training/checkpoint/checkpoint.h>
#include <headrace/training/checkpoint/safetensors.h>
#include <headrace/training/errors.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/ops/tensor.h>
#include <nlohmann/json.hpp>

namespace headrace::inline v1::training {

namespace {

using nlohmann::json;

json from_figures(const Figures& figures) {
  json list = json::array();
  for (const auto& [name, value] : figures)
    list.push_back({name, number_json<json>(value)});
  return list;
}

Figures to_figures(const json& list) {
  Figures figures;
  for (const json& entry : list)
    figures.emplace_back(entry.at(0).get<std::string>(), json_number(entry.at(1)));
  return figures;
}

// A value as JSON has it; what it has no number for as a word.
json from_value(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0.0 ? "inf" : "-inf";
}

double to_value(const json& value) {
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

constexpr std::array fitted_types{at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kLong,
                                  at::kInt,    at::kShort, at::kChar, at::kByte,     at::kBool};

json from_tensors(const TensorMap& tensors) {
  json all = json::object();
  for (const auto& [name, tensor] : tensors) {
    if (std::ranges::find(fitted_types, tensor.scalar_type()) == fitted_types.end())
      throw CheckpointError("[weights] fitted \"" + name + "\" must be of a common dtype, got " +
                            c10::toString(tensor.scalar_type()));
    json values = json::array();
    const bool whole = !tensor.is_floating_point();
    const at::Tensor flat =
        tensor.to(at::kCPU, whole ? at::kLong : at::kDouble).contiguous().flatten();
    for (std::int64_t i = 0; i < flat.numel(); ++i)
      values.push_back(whole ? json(flat.const_data_ptr<std::int64_t>()[i])
                             : from_value(flat.const_data_ptr<double>()[i]));
    all[name] = {{"dtype", c10::toString(tensor.scalar_type())},
                 {"shape", tensor.sizes().vec()},
                 {"values", values}};
  }
  return all;
}

at::Tensor to_tensor(const json& entry) {
  const auto dtype = entry.at("dtype").get<std::string>();
  const auto* const type = std::ranges::find_if(
      fitted_types, [&](at::ScalarType known) { return dtype == c10::toString(known); });
  if (type == fitted_types.end()) throw std::invalid_argument("unknown dtype " + dtype);
  const json& values = entry.at("values");
  at::Tensor flat;
  if (at::isFloatingType(*type)) {
    std::vector<double> all;
    all.reserve(values.size());
    for (const json& value : values)
      all.push_back(to_value(value));
    flat = at::tensor(all, at::kDouble);
  } else {
    flat = at::tensor(values.get<std::vector<std::int64_t>>(), at::kLong);
  }
  return flat.to(*type).view(entry.at("shape").get<std::vector<std::int64_t>>());
}

TensorMap to_tensors(const json& all) {
  TensorMap tensors;
  for (const auto& [name, entry] : all.items())
    tensors.emplace(name, to_tensor(entry));
  return tensors;
}

constexpr std::string_view ours = "headrace.";

std::string take(std::map<std::string, std::string>& words, const char* name) {
  auto found = words.extract(std::string(ours) + name);
  if (found.empty()) throw std::invalid_argument(std::string(ours) + name + " is missing");
  return std::move(found.mapped());
}

BestWeights from_checkpoint(const std::filesystem::path& path) {
  Checkpoint checkpoint = read_checkpoint(path);
  return {.weights = std::move(checkpoint.weights),
          .stage = checkpoint.progress.stage,
          .epoch = checkpoint.progress.epoch,
          .fitted = std::move(checkpoint.fitted),
          .notes = std::move(checkpoint.notes)};
}

}  // namespace

void write_best_weights(const std::filesystem::path& path, const BestWeights& best) {
  TensorFile file{.tensors = best.weights, .metadata = best.notes};
  const auto note = [&](const char* name, std::string text) {
    file.metadata[std::string(ours) + name] = std::move(text);
  };
  note("stage", std::to_string(best.stage));
  note("epoch", std::to_string(best.epoch));
  note("selected_by", best.selected_by);
  note("validation", from_figures(best.validation).dump());
  note("fitted", from_tensors(best.fitted).dump());
  if (!best.unread.empty()) note("unread", best.unread);
  write_safetensors(path, file);
}

BestWeights read_best_weights(const std::filesystem::path& path) {
  TensorFile file = read_safetensors(path);
  if (file.metadata.contains("headrace.crc32")) return from_checkpoint(path);
  BestWeights best{.weights = std::move(file.tensors), .notes = std::move(file.metadata)};
  if (!best.notes.contains(std::string(ours) + "selected_by")) return best;
  try {
    best.stage = std::stoll(take(best.notes, "stage"));
    best.epoch = std::stoll(take(best.notes, "epoch"));
    best.selected_by = take(best.notes, "selected_by");
    best.validation = to_figures(json::parse(take(best.notes, "validation")));
    best.fitted = to_tensors(json::parse(take(best.notes, "fitted")));
    if (best.notes.contains(std::string(ours) + "unread")) best.unread = take(best.notes, "unread");
  } catch (const std::exception& error) {
    throw CheckpointError("[weights] " + path.string() +
                          ": the header cannot be read: " + error.what());
  }
  return best;
}

}  // namespace headrace::inline v1::training
