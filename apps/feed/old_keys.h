#pragma once

#include <headrace/apps/config/fields.h>

#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Where keys of `kind: loader` have gone.
std::vector<MovedKey> old_loader_keys();

/// Where keys of the section `training` have gone that several jobs had.
std::vector<MovedKey> old_training_keys();

/// A key that has become an entry of the list `augment`: `entries` with @ for its value,
/// "{flip: @}"; a value of 0 is no entry.
MovedKey now_in_augment(const std::string& old, const std::string& entries);

/// A key that has become a parameter of `training.schedule`: "{plateau: {factor: @}}".
MovedKey now_in_schedule(const std::string& old, const std::string& entry);

}  // namespace headrace::inline v1::app
