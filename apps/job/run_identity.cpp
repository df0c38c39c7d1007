#include <headrace/apps/job/run_identity.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

// Keys and sections that another value may be given when a run goes on.
constexpr std::array<std::string_view, 28> free_keys{"runs",
                                                     "smoke",
                                                     "tensorboard",
                                                     "log_every",
                                                     "memory",
                                                     "goals",
                                                     "device",
                                                     "threads",
                                                     "delay",
                                                     "data.resident",
                                                     "data.residence",
                                                     "data.stage",
                                                     "data.cache",
                                                     "data.listings",
                                                     "data.bad_samples",
                                                     "data.check",
                                                     "data.duplicates_within",
                                                     "data.prefetch",
                                                     "training.evaluation_batch",
                                                     "training.checkpoint_every",
                                                     "training.early_stopping",
                                                     "training.min_delta",
                                                     "training.stop_at",
                                                     "training.cudnn_benchmark",
                                                     "training.deterministic",
                                                     "training.checkpointed",
                                                     "training.non_finite",
                                                     "training.member"};

bool is_free(std::string_view path) {
  return std::any_of(free_keys.begin(), free_keys.end(), [&](std::string_view key) {
    return path == key || (path.starts_with(key) && path[key.size()] == '.');
  });
}

// Maps give a key for each entry, lists too.
void flatten(const Node& node, const std::string& path, std::map<std::string, std::string>& into) {
  const auto below = [&](const std::string& name) {
    return path.empty() ? name : path + '.' + name;
  };
  for (const Entry& entry : node.entries)
    flatten(entry.value, below(entry.key), into);
  for (std::size_t i = 0; i < node.items.size(); ++i)
    flatten(node.items[i], below(std::to_string(i)), into);
  if (node.kind == Node::Kind::scalar) into.emplace(path, node.text);
}

Node without_free_keys(const Node& node, const std::string& path) {
  Node kept = node;
  kept.entries.clear();
  for (const Entry& entry : node.entries) {
    const std::string below = path.empty() ? entry.key : path + '.' + entry.key;
    if (is_free(below)) continue;
    kept.entries.push_back(
        {.key = entry.key, .place = entry.place, .value = without_free_keys(entry.value, below)});
  }
  if (path == "training.stages")
    for (Node& stage : kept.items)
      stage = without_free_keys(stage, "training");
  return kept;
}

}  // namespace

Node what_is_learnt(const Node& written) {
  return without_free_keys(written, "");
}

std::map<std::string, std::string> run_identity(const Node& written) {
  std::map<std::string, std::string> identity;
  flatten(what_is_learnt(written), "", identity);
  return identity;
}

std::string identity_hash(const std::map<std::string, std::string>& identity) {
  std::string all;
  for (const auto& [key, value] : identity)
    all += key + '=' + value + '\n';
  return fmt::format("{:016x}", hash_name(all));
}

void require_same_run(const std::map<std::string, std::string>& began,
                      const std::map<std::string, std::string>& now) {
  const auto value = [](const std::map<std::string, std::string>& of, const std::string& key) {
    const auto found = of.find(key);
    return found == of.end() ? std::string("nothing") : found->second;
  };
  std::map<std::string, std::string> keys = began;
  keys.insert(now.begin(), now.end());
  std::string differences;
  for (const auto& [key, any] : keys) {
    if (value(began, key) == value(now, key)) continue;
    differences += fmt::format("\n  {} was {}, got {}", key, value(began, key), value(now, key));
  }
  if (differences.empty()) return;
  throw ConfigError(
      "[resume] a run goes on with what it began with; leave these keys out, or begin a new run:" +
      differences);
}

}  // namespace headrace::inline v1::app
