#include <headrace/apps/config/document.h>
#include <headrace/apps/config/units.h>
#include <headrace/apps/view/setting_facts.h>
#include <headrace/engine/runtime/runtime.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::app {
namespace {

using Values = std::map<std::string, std::string>;

// Scalars by their paths; what stands in lists (stages, operations) is no key of its own.
void flatten(const Node& node, const std::string& path, Values& values) {
  if (node.kind == Node::Kind::map) {
    for (const Entry& entry : node.entries)
      flatten(entry.value, path.empty() ? entry.key : path + '.' + entry.key, values);
  } else if (node.kind != Node::Kind::list) {
    values[path] = node.text;
  }
}

std::string text(const Values& values, const std::string& path) {
  const auto place = values.find(path);
  return place == values.end() ? std::string() : place->second;
}

std::int64_t number(const Values& values, const std::string& path, std::int64_t otherwise) {
  const std::string digits = text(values, path);
  std::int64_t value = otherwise;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

std::uint64_t bytes(const Values& values, const std::string& path) {
  const std::optional<Bytes> size = parse_bytes(text(values, path));
  return size ? size->value : 0;
}

int threads(const Values& values, const std::string& path, int otherwise) {
  const auto wanted = static_cast<int>(number(values, path, 0));
  return wanted > 0 ? wanted : otherwise;
}

std::vector<Node> stages_of(const Node& full) {
  const Node* stages = find_path(full, "training.stages");
  return stages == nullptr ? std::vector<Node>() : stages->items;
}

void leave_out_keys(monitor::SettingFacts& facts, const Node& stage) {
  for (const Entry& entry : stage.entries)
    std::erase(facts.keys, entry.key == "augment" ? entry.key : "training." + entry.key);
}

// Where it leads the list, the decoder does it.
bool leads(const Node& full, std::string_view operation) {
  const Entry* const list = full.find("augment");
  if (list == nullptr || list->value.items.empty()) return false;
  const Node& first = list->value.items.front();
  return first.text == operation || first.find(operation) != nullptr;
}

// Of the square that whole pictures are decoded to, so that crops of it are little smaller.
int resize_for(std::int64_t side) {
  constexpr std::int64_t most = 4096;
  return static_cast<int>(std::min((side * 8 / 7 + 7) / 8 * 8, most));
}

std::int64_t warmup_epochs(const Values& values) {
  std::int64_t most = 1;
  for (const auto& [path, value] : values)
    if (path.starts_with("training.schedule") && path.ends_with(".warmup_epochs"))
      most = std::max(most, number(values, path, 1));
  return most;
}

}  // namespace

monitor::SettingFacts setting_facts(const Node& full) {
  Values values;
  flatten(full, {}, values);
  const int cores = headrace::usable_cores();
  monitor::SettingFacts facts{
      .loader_threads = threads(values, "threads.loader", cores),
      .io_threads = threads(values, "threads.io", default_io_threads),
      .torch_threads = threads(values, "threads.torch", cores),
      .prefetch = static_cast<int>(number(values, "data.prefetch", 0)),
      .batch = number(values, values.contains("training.batch") ? "training.batch" : "batch", 0),
      .decode_device = text(values, "image.decode"),
      .has_cache = bytes(values, "data.cache.memory") > 0 || bytes(values, "data.cache.disk") > 0,
      .can_cache = values.contains("data.cache.memory"),
      .device = text(values, "device"),
      .accumulation = number(values, "training.accumulation", 1),
      .precision = text(values, "training.precision"),
      .resident = bytes(values, "data.resident"),
      .decode_draws = text(values, "image.resize") == "0" && leads(full, "random_resized_crop"),
      .picture_resize = resize_for(
          number(values, values.contains("image.size") ? "image.size" : "image.side", 0)),
      .least_epochs = warmup_epochs(values)};
  for (const auto& [path, value] : values)
    facts.keys.push_back(path);
  return facts;
}

monitor::SettingFacts setting_facts(const TrainingJob& job) {
  const Node full = parse_document(job.yaml, job.name);
  monitor::SettingFacts facts = setting_facts(full);
  facts.prefetch = job.config->prefetch();
  for (const Node& stage : stages_of(full))
    leave_out_keys(facts, stage);
  return facts;
}

std::vector<monitor::SettingFacts> stage_setting_facts(const TrainingJob& job) {
  const Node full = parse_document(job.yaml, job.name);
  monitor::SettingFacts common = setting_facts(full);
  common.prefetch = job.config->prefetch();
  std::vector<monitor::SettingFacts> all;
  for (const Node& stage : stages_of(full)) {
    const TrainingSettings& training =
        job.config->of_stage(static_cast<std::int64_t>(all.size())).training;
    monitor::SettingFacts& facts = all.emplace_back(common);
    facts.batch = training.batch;
    facts.accumulation = training.accumulation;
    if (const Entry* precision = stage.find("precision")) facts.precision = precision->value.text;
    leave_out_keys(facts, stage);
  }
  return all;
}

}  // namespace headrace::inline v1::app
