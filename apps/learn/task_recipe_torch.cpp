#include <headrace/apps/learn/task_recipe_torch.h>
#include <headrace/engine/base/error.h>
#include <headrace/training/errors.h>

#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {

std::vector<training::Member> members_of_parts(const std::vector<SplitParts>& parts) {
  std::vector<training::Member> members;
  for (const SplitParts& one : parts) {
    const auto index = static_cast<std::int64_t>(members.size());
    members.push_back({.index = index,
                       .name = parts.size() > 1 ? "fold-" + std::to_string(index) : "run",
                       .train = one.train,
                       .validation = one.validation,
                       .test = one.test});
  }
  return members;
}

const std::string& note_of(const std::map<std::string, std::string>& notes, const char* name) {
  const auto found = notes.find(name);
  if (found != notes.end()) return found->second;
  throw training::CheckpointError(std::string("[weights] the file must have the note \"") + name +
                                  "\", has not; take a file that headrace train has written");
}

std::vector<std::string> classes_of_notes(const std::map<std::string, std::string>& notes) {
  try {
    return nlohmann::json::parse(note_of(notes, "class_names")).get<std::vector<std::string>>();
  } catch (const nlohmann::json::exception& error) {
    throw training::CheckpointError(std::string("[weights] note \"class_names\" must be a list of "
                                                "names: ") +
                                    error.what());
  }
}

std::map<std::string, std::string> task_notes(const std::string& task,
                                              const std::vector<std::string>& classes,
                                              const std::string& normalisation) {
  return {{"task", task},
          {"classes", std::to_string(classes.size())},
          {"class_names", nlohmann::json(classes).dump()},
          {"normalisation", normalisation}};
}

}  // namespace headrace::inline v1::app
