#include <headrace/apps/feed/old_keys.h>

#include <algorithm>
#include <utility>

namespace headrace::inline v1::app {
namespace {

Node scalar(const std::string& text) {
  return {.kind = Node::Kind::scalar, .text = text};
}

Node map_of(const std::string& name, Node value) {
  Node map{.kind = Node::Kind::map, .in_line = true};
  map.entries.push_back({.key = name, .place = {}, .value = std::move(value)});
  return map;
}

bool is_called(const Node& entry, const std::string& name) {
  return entry.text == name || entry.find(name) != nullptr;
}

// An entry with its parameters, which are a map or the value of the main one; null: none.
void put_entry(Node& list, const std::string& name, const Node& parameters) {
  const auto same = std::find_if(list.items.begin(), list.items.end(),
                                 [&](const Node& entry) { return is_called(entry, name); });
  if (parameters.kind == Node::Kind::null) {
    if (same != list.items.end()) list.items.erase(same);
    return;
  }
  const bool bare = parameters.kind == Node::Kind::map && parameters.entries.empty();
  Node entry = bare ? scalar(name) : map_of(name, parameters);
  if (same != list.items.end()) {
    *same = std::move(entry);
  } else {
    list.items.push_back(std::move(entry));
  }
}

const Node* augment_of(const Node& document) {
  const Node* list = find_path(document, "augment");
  return list != nullptr && list->kind == Node::Kind::list ? list : nullptr;
}

Node none_if_zero(const Node& value) {
  const bool zero = value.text.find_first_not_of("0.") == std::string::npos;
  return value.kind == Node::Kind::scalar && !zero ? value : Node{};
}

// What all keys together say, those that were not written with their defaults; a list that the
// document has already knows of the latter.
Node augment_list_of(const Node& document, const std::vector<OldValue>& keys,
                     const std::vector<std::string>& before) {
  const Node* given = augment_of(document);
  Node list{.kind = Node::Kind::list};
  if (given != nullptr) {
    list = *given;
  } else {
    for (const std::string& name : before)
      list.items.push_back(scalar(name));
  }
  for (const OldValue& key : keys) {
    const Node* written = find_path(document, key.old);
    if (written != nullptr) {
      put_entry(list, key.now, none_if_zero(*written));
    } else if (given == nullptr) {
      put_entry(list, key.now, none_if_zero(scalar(key.otherwise)));
    }
  }
  return list;
}

Node schedule_of(const Node& document, const std::string& schedule,
                 const std::vector<OldValue>& keys) {
  const Node* given = find_path(document, "training.schedule." + schedule);
  Node parameters{.kind = Node::Kind::map, .in_line = true};
  if (given != nullptr && given->kind == Node::Kind::map) parameters = *given;
  for (const OldValue& key : keys) {
    const Node* written = find_path(document, key.old);
    if (written == nullptr && parameters.find(key.now) != nullptr) continue;
    Node value = written != nullptr ? *written : scalar(key.otherwise);
    if (Entry* entry = parameters.find(key.now)) {
      entry->value = std::move(value);
    } else {
      parameters.entries.push_back({.key = key.now, .place = {}, .value = std::move(value)});
    }
  }
  return map_of(schedule, std::move(parameters));
}

std::vector<MovedKey> moved_to(const std::vector<OldValue>& keys, const std::string& now,
                               const std::string& said,
                               const std::function<Node(const Node&)>& write) {
  std::vector<MovedKey> moved;
  moved.reserve(keys.size());
  for (const OldValue& key : keys)
    moved.push_back({.old = key.old, .now = now, .said = said, .write = write});
  return moved;
}

}  // namespace

std::vector<MovedKey> now_in_augment(const std::vector<OldValue>& keys,
                                     const std::vector<std::string>& before) {
  return moved_to(
      keys, "augment", "an entry of the list augment",
      [keys, before](const Node& document) { return augment_list_of(document, keys, before); });
}

std::vector<MovedKey> now_in_schedule(const std::string& schedule,
                                      const std::vector<OldValue>& keys) {
  return moved_to(
      keys, "training.schedule", "a parameter of training.schedule",
      [keys, schedule](const Node& document) { return schedule_of(document, schedule, keys); });
}

Node augment_with(const Node& document, const std::string& name, const Node& parameters) {
  const Node* given = augment_of(document);
  Node list{.kind = Node::Kind::list};
  if (given != nullptr) list = *given;
  put_entry(list, name, parameters);
  return list;
}

std::vector<MovedKey> old_loader_keys() {
  std::vector<MovedKey> keys = now_in_augment(
      {{"image.flip", "flip", "0.5"}, {"image.rotation", "rotate", "0"}}, {"random_resized_crop"});
  keys.push_back({.old = "source.kind", .now = "data.source"});
  keys.push_back({.old = "source.*", .now = "data.*"});
  keys.push_back({.old = "cache.*", .now = "data.cache.*"});
  keys.push_back({.old = "prefetch", .now = "data.prefetch"});
  return keys;
}

}  // namespace headrace::inline v1::app
