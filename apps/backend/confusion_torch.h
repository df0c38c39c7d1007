#pragma once

#include <headrace/apps/figures/reports.h>
#include <headrace/models/metrics/confusion_matrix.h>
#include <headrace/training/recipe.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// The names of the classes that a course's metrics count: its own, else those of the notes.
std::vector<std::string> class_names(const training::Course& course,
                                     const std::map<std::string, std::string>& notes);

/// The counts with the names of their classes, if there is one for each.
Confusion named(const std::optional<models::ConfusionMatrix>& matrix,
                std::vector<std::string> names);

}  // namespace headrace::inline v1::app
