#include <headrace/apps/config/fields.h>
#include <headrace/apps/config/moved_keys.h>
#include <headrace/engine/base/error.h>

#include <optional>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

// A moved key that a document has.
struct Found {
  const Entry* entry;
  std::string path;
  const MovedKey* key;
  std::string now;  // Its path, without a star.

  std::string line() const {
    return fmt::format("{}: {} is now {}", entry->place.text(), path,
                       key->said.empty() ? now : key->said);
  }
};

// The path that the key has now, if `path` is one of its old ones.
std::optional<std::string> path_now(const MovedKey& key, const std::string& path) {
  const auto star = key.old.find('*');
  if (star == std::string::npos) return key.old == path ? std::optional(key.now) : std::nullopt;
  if (!path.starts_with(key.old.substr(0, star))) return std::nullopt;
  std::string now = key.now;
  return now.replace(now.find('*'), 1, path.substr(star));
}

void collect(const std::vector<MovedKey>& keys, const Node& map, const std::string& prefix,
             std::vector<Found>& found) {
  for (const Entry& entry : map.entries) {
    const std::string path = prefix + entry.key;
    bool moved = false;
    for (const MovedKey& key : keys) {
      const std::optional<std::string> now = path_now(key, path);
      if (!now) continue;
      found.push_back({&entry, path, &key, *now});
      moved = true;
      break;
    }
    if (!moved) collect(keys, entry.value, path + '.', found);
  }
}

void put(Node& map, std::string_view path, Node value) {
  const auto dot = path.find('.');
  const std::string name(path.substr(0, dot));
  map.kind = Node::Kind::map;
  Entry* entry = map.find(name);
  if (entry == nullptr) entry = &map.entries.emplace_back(Entry{.key = name});
  if (dot == std::string_view::npos) {
    entry->value = std::move(value);
  } else {
    put(entry->value, path.substr(dot + 1), std::move(value));
  }
}

// All new keys together, as they would stand in a document.
Node written(const std::vector<Found>& found, const Node& document) {
  Node now{.kind = Node::Kind::map};
  for (const Found& one : found) {
    if (one.now.empty()) continue;
    put(now, one.now, one.key->write ? one.key->write(document) : one.entry->value);
  }
  return now;
}

}  // namespace

void refuse_moved(const std::vector<MovedKey>& keys, const Node& document) {
  std::vector<Found> found;
  collect(keys, document, "", found);
  if (found.empty()) return;
  const Node now = written(found, document);
  std::string text = "[config] ";
  if (found.size() == 1) {
    text += found.front().line();
    for (const Entry& entry : now.entries)
      text += fmt::format(": write \"{}: {}\"", entry.key, to_flow_yaml(entry.value));
    throw ConfigError(text);
  }
  text += "these keys have moved:";
  for (const Found& one : found)
    text += "\n  " + one.line();
  if (!now.entries.empty()) text += "\nwrite instead:";
  for (const Entry& entry : now.entries)
    text += fmt::format("\n  {}: {}", entry.key, to_flow_yaml(entry.value));
  throw ConfigError(text);
}

const Node* find_path(const Node& document, std::string_view path) {
  const Node* node = &document;
  while (!path.empty()) {
    const auto dot = path.find('.');
    const Entry* entry = node->find(path.substr(0, dot));
    if (entry == nullptr) return nullptr;
    node = &entry->value;
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  }
  return node;
}

}  // namespace headrace::inline v1::app
