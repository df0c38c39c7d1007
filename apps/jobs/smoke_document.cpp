#include <headrace/apps/jobs/smoke_document.h>
#include <headrace/engine/base/error.h>

#include <vector>

#include <fmt/format.h>

namespace headrace::inline v1::app {
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
