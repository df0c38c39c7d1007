#pragma once

#include <headrace/apps/task/split.h>
#include <headrace/training/recipe.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

// What the recipes of tasks have in common, whatever their records are.
namespace headrace::inline v1::app {

/// A member for each part of a division: "run", or "fold-0", "fold-1", ...
std::vector<training::Member> members_of_parts(const std::vector<SplitParts>& parts);

/// A word of a checkpoint. Throws CheckpointError where it is not there.
const std::string& note_of(const std::map<std::string, std::string>& notes, const char* name);

/// The names in the word "class_names". Throws CheckpointError.
std::vector<std::string> classes_of_notes(const std::map<std::string, std::string>& notes);

/// The words "task", "classes", "class_names" and "normalisation".
std::map<std::string, std::string> task_notes(const std::string& task,
                                              const std::vector<std::string>& classes,
                                              const std::string& normalisation);

}  // namespace headrace::inline v1::app
