#include <headrace/apps/config/document.h>
#include <headrace/apps/jobs/stage_documents.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

void set(Node& map, const Entry& entry) {
  if (map.kind == Node::Kind::null) map.kind = Node::Kind::map;
  if (Entry* known = map.find(entry.key))
    *known = entry;
  else
    map.entries.push_back(entry);
}

Node& section(Node& document, const std::string& name, const Place& place) {
  if (document.find(name) == nullptr)
    document.entries.push_back(
        {.key = name, .place = place, .value = {.kind = Node::Kind::map, .place = place}});
  return document.find(name)->value;
}

void set_loss(Node& document, const Entry& entry) {
  Entry* known = document.find(entry.key);
  const bool sections = known != nullptr && known->value.kind == Node::Kind::map &&
                        entry.value.kind == Node::Kind::map;
  // The keys of another loss are none of this one's.
  if (!sections || entry.value.find("name") != nullptr) return set(document, entry);
  for (const Entry& key : entry.value.entries)
    set(known->value, key);
}

// What is frozen behind the first stage has been trained before it.
void allow_frozen(Node& document, const Place& place) {
  const Node* frozen = find_path(document, "model.frozen");
  if (frozen == nullptr || frozen->items.empty()) return;
  set(section(document, "model", place),
      {.key = "allow_random_frozen",
       .place = place,
       .value = {.kind = Node::Kind::scalar, .text = "true", .place = place}});
}

Node with_stage(Node document, const Node& stage, bool first) {
  for (const Entry& entry : stage.entries) {
    if (entry.key == "loss")
      set_loss(document, entry);
    else if (entry.key == "augment")
      set(document, entry);
    else
      set(section(document, entry.key == "frozen" ? "model" : "training", entry.place), entry);
  }
  if (!first) allow_frozen(document, stage.place);
  return document;
}

}  // namespace

std::vector<Node> stage_documents(const Node& document) {
  const Node* stages = find_path(document, "training.stages");
  if (stages == nullptr || stages->kind == Node::Kind::null) return {};
  if (stages->kind != Node::Kind::list)
    throw ConfigError(
        fmt::format("[config] {}: key \"training.stages\" must be a list of stages, each a map of "
                    "keys, got {}",
                    stages->place.text(), describe(*stages)));
  if (stages->items.empty()) return {};  // as the effective configuration says that there are none
  Node common = document;
  std::erase_if(common.find("training")->value.entries, [](const Entry& entry) {
    return entry.key == "stages" || entry.key == "member" || entry.key == "checkpoint_every";
  });
  std::vector<Node> documents;
  for (const Node& stage : stages->items) {
    if (stage.kind != Node::Kind::map)
      throw ConfigError(
          fmt::format("[config] {}: key \"training.stages.{}\" must be a map of keys, got {}",
                      stage.place.text(), documents.size(), describe(stage)));
    documents.push_back(with_stage(common, stage, documents.empty()));
  }
  return documents;
}

}  // namespace headrace::inline v1::app
