#include <headrace/apps/config/document.h>
#include <headrace/apps/job/stage_documents.h>
#include <headrace/engine/base/error.h>

#include <string>
#include <vector>

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

namespace {

bool are_maps(const Node& one, const Node& other) {
  return one.kind == Node::Kind::map && other.kind == Node::Kind::map;
}

void put_over(Node& document, const Node& keys) {
  for (const Entry& entry : keys.entries) {
    Entry* known = document.find(entry.key);
    if (known == nullptr)
      document.entries.push_back(entry);
    else if (are_maps(known->value, entry.value))
      put_over(known->value, entry.value);
    else
      known->value = entry.value;
  }
}

// Takes out of a stage what `keys` say.
void take_out(Node& stage, const Node& keys) {
  for (const Entry& entry : keys.entries) {
    Entry* own = stage.find(entry.key);
    if (own != nullptr && are_maps(own->value, entry.value)) {
      take_out(own->value, entry.value);
      own = own->value.entries.empty() ? own : nullptr;
    }
    if (own != nullptr) stage.entries.erase(stage.entries.begin() + (own - stage.entries.data()));
  }
}

// As stages name them: those of `training`, the lists `augment` and `loss`, and model.frozen.
Node keys_of_stages(const Node& section) {
  Node keys{.kind = Node::Kind::map};
  if (const Entry* training = section.find("training")) keys.entries = training->value.entries;
  for (const char* name : {"augment", "loss"})
    if (const Entry* entry = section.find(name)) keys.entries.push_back(*entry);
  if (const Entry* model = section.find("model"))
    if (const Entry* frozen = model->value.find("frozen")) keys.entries.push_back(*frozen);
  return keys;
}

void check_section(const Node& section) {
  if (section.kind != Node::Kind::map)
    throw ConfigError(
        fmt::format("[config] {}: key \"smoke\" must be a map of keys as in the rest of the file, "
                    "got {}",
                    section.place.text(), describe(section)));
  for (const char* name : {"kind", "smoke"})
    if (const Entry* entry = section.find(name))
      throw ConfigError(fmt::format("[config] {}: key \"smoke.{}\" is not known; remove it",
                                    entry->place.text(), name));
}

}  // namespace

std::optional<Node> smoke_document(const Node& document) {
  const Entry* smoke = document.find("smoke");
  if (smoke == nullptr || smoke->value.kind == Node::Kind::null) return std::nullopt;
  const Node section = smoke->value;
  check_section(section);
  if (section.entries.empty()) return std::nullopt;
  Node shrunk = document;
  Entry* training = shrunk.find("training");
  Entry* stages = training == nullptr ? nullptr : training->value.find("stages");
  if (stages != nullptr)
    for (Node& stage : stages->value.items)
      take_out(stage, keys_of_stages(section));
  put_over(shrunk, section);
  return shrunk;
}

}  // namespace headrace::inline v1::app
