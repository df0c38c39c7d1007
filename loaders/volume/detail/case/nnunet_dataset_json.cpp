#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/volume/detail/array/json_text.h>
#include <headrace/loaders/volume/detail/array/store_folder.h>
#include <headrace/loaders/volume/detail/case/nnunet_dataset_json.h>

#include <algorithm>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t most_bytes = std::size_t{1} << 24;
constexpr std::int64_t most_value = 65535;  // of a label
constexpr std::size_t most_channels = 10'000;

[[noreturn]] void refuse(const std::string& rule) {
  throw ConfigError("[nnU-Net raw data] dataset.json: " + rule);
}

/// The text, which is read as JSON twice: once within limits, once with keys in their order.
std::string text_of(const NnUNetRaw& raw) {
  try {
    if (auto text = StoreFolder(raw.folder).text("dataset.json", most_bytes)) return *text;
  } catch (const DataError& error) {
    refuse(error.what());
  }
  throw ConfigError("[nnU-Net raw data] " + printable(raw.folder.native()) +
                    ": must have a file dataset.json (nnU-Net, version 2)");
}

/// Version 1 had other keys, and named channels and labels the other way round.
void refuse_old(const Json& json) {
  if (json.contains("modality") || json.contains("training")) {
    refuse(std::string("\"") + (json.contains("modality") ? "modality" : "training") +
           "\" is of nnU-Net's version 1 (or the Medical Segmentation Decathlon); write "
           "\"channel_names\": {\"0\": \"CT\"}, \"labels\": {\"background\": 0, \"liver\": 1}, "
           "\"numTraining\" and \"file_ending\", as nnUNetv2_convert_MSD_dataset does");
  }
  if (json.contains("dataset")) {
    refuse(
        "\"dataset\", a list of files anywhere, is not read; put the files into imagesTr and "
        "labelsTr");
  }
  const Json& labels = member(json, "labels");
  if (labels.is_object() && labels.contains("0") && labels.at("0").is_string()) {
    refuse("\"labels\" must be names with their values, as nnU-Net's version 2 has them, got " +
           shown(labels) + " of version 1; write {\"background\": 0, ...}");
  }
}

void read_channels(const Json& json, NnUNetRaw& raw) {
  const Json& names = member(json, "channel_names");
  if (!names.is_object() || names.empty() || names.size() > most_channels)
    refuse("\"channel_names\" must be numbers with names ({\"0\": \"CT\"}), got " + shown(names));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Json& name = member(names, std::to_string(i).c_str());
    if (!name.is_string()) {
      refuse("\"channel_names\" must name the channels \"0\" to \"" +
             std::to_string(names.size() - 1) + "\", got " + shown(name) + " for \"" +
             std::to_string(i) + "\"");
    }
    raw.channels.push_back(name.get<std::string>());
  }
}

std::int64_t value_of(const Json& value, const std::string& name) {
  const bool fits = value.is_number_integer() && value.get<double>() >= 0 &&
                    value.get<double>() <= static_cast<double>(most_value);
  if (!fits) {
    refuse("\"labels\" must have whole numbers from 0 to " + std::to_string(most_value) +
           ", or for a region a list of such, got " + shown(value) + " for " +
           detail::quoted(name));
  }
  return value.get<std::int64_t>();
}

void read_labels(const OrderedJson& json, NnUNetRaw& raw) {
  const auto labels = json.find("labels");
  if (labels == json.end() || !labels->is_object() || labels->empty())
    refuse("\"labels\" must be names with their values ({\"background\": 0, \"liver\": 1})");
  for (const auto& [name, ordered] : labels->items()) {
    const Json value = ordered;
    if (name == "ignore") {
      raw.ignore = value_of(value, name);
      continue;
    }
    NnUNetLabel label{.name = name};
    if (value.is_array()) {
      for (const Json& one : value)
        label.values.push_back(value_of(one, name));
    } else {
      label.values.push_back(value_of(value, name));
    }
    if (label.values.empty())
      refuse("\"labels\" must have a value of " + detail::quoted(name) + ", got an empty list");
    raw.labels.push_back(std::move(label));
  }
}

void check_labels(const NnUNetRaw& raw) {
  const auto background = std::ranges::find(raw.labels, "background", &NnUNetLabel::name);
  if (background == raw.labels.end() || background->values != std::vector<std::int64_t>{0})
    refuse("\"labels\" must have \"background\": 0");
  const std::vector<std::int64_t> values = raw.values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != static_cast<std::int64_t>(i)) {
      refuse("the values of \"labels\" must be 0, 1, 2 and so on, got none that is " +
             std::to_string(i) + ", but " + std::to_string(values[i]) +
             "; renumber them, in labelsTr, too");
    }
  }
  if (raw.ignore && *raw.ignore != values.back()) {
    refuse("\"ignore\" must have the highest value of \"labels\", " +
           std::to_string(values.back()) + ", got " + std::to_string(*raw.ignore));
  }
  for (const NnUNetLabel& label : raw.labels) {
    if (raw.ignore && std::ranges::count(label.values, *raw.ignore) > 0)
      refuse("the value of \"ignore\" must be no other's, got it for " +
             detail::quoted(label.name));
  }
}

void read_regions(const Json& json, NnUNetRaw& raw) {
  if (!raw.regions()) return;
  const auto regions = std::ranges::count_if(raw.labels, [](const NnUNetLabel& label) {
    return std::ranges::any_of(label.values, [](std::int64_t value) { return value != 0; });
  });
  try {
    const auto count = static_cast<std::size_t>(regions);
    raw.regions_class_order =
        whole_numbers(member(json, "regions_class_order"), "regions_class_order", 0, count, count);
  } catch (const DataError& error) {
    refuse(std::string(error.what()) +
           "; labels with several values are regions, each needs there the value that it becomes");
  }
}

}  // namespace

DatasetJson read_dataset_json(NnUNetRaw& raw) {
  const std::string text = text_of(raw);
  Json json;
  try {
    json = read_json(text);
  } catch (const DataError& error) {
    refuse(error.what());
  }
  refuse_old(json);
  read_channels(json, raw);
  read_labels(OrderedJson::parse(text), raw);
  check_labels(raw);
  read_regions(json, raw);
  const Json& ending = member(json, "file_ending");
  if (!ending.is_string() || ending.get<std::string>().size() < 2 ||
      !ending.get<std::string>().starts_with('.') ||
      ending.get<std::string>().find('/') != std::string::npos)
    refuse("\"file_ending\" must be how the files' names end (\".nii.gz\"), got " + shown(ending));
  raw.file_ending = ending.get<std::string>();
  const Json& cases = member(json, "numTraining");
  if (!cases.is_number_integer() || cases.get<double>() < 1 || cases.get<double>() > 1e9)
    refuse("\"numTraining\" must be the number of cases to train on, got " + shown(cases));
  return {.cases = cases.get<std::int64_t>()};
}

}  // namespace headrace::inline v1::detail
