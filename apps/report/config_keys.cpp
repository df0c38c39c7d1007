#include <headrace/apps/config/fields.h>
#include <headrace/apps/job/read_job.h>
#include <headrace/apps/report/config_keys.h>

#include <algorithm>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

bool has_maps(const Node& list) {
  return std::any_of(list.items.begin(), list.items.end(),
                     [](const Node& item) { return item.kind == Node::Kind::map; });
}

void take_apart(const Node& node, const std::string& path, std::vector<ConfigKey>& keys) {
  if (node.kind == Node::Kind::map && !node.entries.empty()) {
    for (const Entry& entry : node.entries)
      take_apart(entry.value, path.empty() ? entry.key : path + '.' + entry.key, keys);
  } else if (node.kind == Node::Kind::list && has_maps(node)) {
    for (std::size_t i = 0; i < node.items.size(); ++i)
      take_apart(node.items[i], fmt::format("{}[{}]", path, i), keys);
  } else if (!path.empty()) {
    keys.push_back({path, to_flow_yaml(node)});
  }
}

void compare(const Node& node, const std::string& path, const std::vector<KeyDoc>& known,
             std::vector<ChangedKey>& changed) {
  for (const Entry& entry : node.entries) {
    if (path.empty() && entry.key == "kind") continue;
    const std::string below = path.empty() ? entry.key : path + '.' + entry.key;
    const auto key = std::find_if(known.begin(), known.end(),
                                  [&](const KeyDoc& doc) { return doc.name == entry.key; });
    const bool is_section = key != known.end() && key->value.empty() && !key->keys.empty();
    if (is_section && entry.value.kind == Node::Kind::map) {
      compare(entry.value, below, key->keys, changed);
      continue;
    }
    const std::string value = to_flow_yaml(entry.value);
    const bool has_usual = key != known.end() && !key->required;
    if (has_usual && value == key->value) continue;
    changed.push_back({below, value, has_usual ? key->value : std::string()});
  }
}

}  // namespace

std::vector<ConfigKey> config_keys(const Node& config) {
  std::vector<ConfigKey> keys;
  take_apart(config, "", keys);
  return keys;
}

std::vector<ChangedKey> changed_keys(const Node& config, const std::vector<Job>& jobs) {
  std::vector<ChangedKey> changed;
  const Entry* kind = config.find("kind");
  const Job* job = kind == nullptr ? nullptr : find_job(jobs, kind->value.text);
  if (job == nullptr) return changed;
  const auto usual = job->config();
  Fields fields;
  usual->describe_keys(fields);
  compare(config, "", fields.keys(), changed);
  return changed;
}

}  // namespace headrace::inline v1::app
