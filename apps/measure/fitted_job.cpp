#include <headrace/apps/config/document.h>
#include <headrace/apps/config/fields.h>
#include <headrace/apps/measure/fitted_job.h>

#include <algorithm>
#include <utility>

namespace headrace::inline v1::app {
namespace {

void set(Node& map, const std::string& key, std::int64_t value) {
  if (value == 0) return;
  Node scalar{.kind = Node::Kind::scalar, .text = std::to_string(value)};
  if (Entry* known = map.find(key))
    known->value = std::move(scalar);
  else
    map.entries.push_back({.key = key, .value = std::move(scalar)});
}

void set(Node& stage, const StageChange& change) {
  set(stage, "batch", change.batch);
  set(stage, "accumulation", change.accumulation);
  set(stage, "evaluation_batch", change.evaluation_batch);
}

constexpr std::string_view section = "training.";

// What stages of a list say themselves about a key of the section.
std::vector<Node*> of_stages(Node& document, const std::string& path) {
  std::vector<Node*> found;
  Entry* stages = document.find("training")->value.find("stages");
  if (!path.starts_with(section) || stages == nullptr) return found;
  for (Node& stage : stages->value.items)
    if (Entry* own = stage.find(path.substr(section.size()))) found.push_back(&own->value);
  return found;
}

}  // namespace

bool is_of_stages(const TrainingJob& job, const std::string& path) {
  Node document = parse_document(job.yaml, "the configuration");
  return !of_stages(document, path).empty();
}

std::optional<std::string> yaml_with(const TrainingJob& job, const std::string& path,
                                     const std::string& value) {
  Node document = parse_document(job.yaml, "the configuration");
  const Node wanted = parse_document(value, "--set");
  bool changed = false;
  const auto change = [&](Node& known) {
    if (to_flow_yaml(known) == to_flow_yaml(wanted)) return;
    known = wanted;
    changed = true;
  };
  Node* known = find_path(document, path);
  if (known == nullptr) return std::nullopt;
  change(*known);
  for (Node* own : of_stages(document, path))
    change(*own);
  return changed ? std::optional(to_yaml(document)) : std::nullopt;
}

std::string fitted_yaml(const TrainingJob& job, const std::vector<StageChange>& changes) {
  Node document = parse_document(job.yaml, "the configuration");
  Node& training = document.find("training")->value;
  Entry* stages = training.find("stages");
  if (stages == nullptr || stages->value.items.empty()) {
    set(training, changes.front());
  } else {
    for (std::size_t i = 0; i < changes.size(); ++i)
      set(stages->value.items.at(i), changes[i]);
  }
  return to_yaml(document);
}

std::vector<StageChange> changes_to_fit(const MemoryPlan& plan) {
  std::vector<StageChange> changes;
  for (const PlannedStage& stage : plan.stages)
    changes.push_back(change_to_fit(plan, stage).value_or(StageChange{}));
  const bool any = std::ranges::any_of(changes, &StageChange::needed);
  return any ? changes : std::vector<StageChange>{};
}

}  // namespace headrace::inline v1::app
