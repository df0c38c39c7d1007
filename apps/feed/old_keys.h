#pragma once

#include <headrace/apps/config/moved_keys.h>

#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Where keys of `kind: loader` have gone.
std::vector<MovedKey> old_loader_keys();

/// A key whose value is now a parameter of something else.
struct OldValue {
  std::string old{};        ///< its path, "data.flip"
  std::string now{};        ///< the parameter, or the operation
  std::string otherwise{};  ///< its value where it was not written
};

/// Keys that have become entries of the list `augment`, behind the operations `before`; a value of
/// 0 is no entry.
std::vector<MovedKey> now_in_augment(const std::vector<OldValue>& keys,
                                     const std::vector<std::string>& before = {});

/// Keys that have become parameters of that `training.schedule`.
std::vector<MovedKey> now_in_schedule(const std::string& schedule,
                                      const std::vector<OldValue>& keys);

/// The document's list `augment` with this entry in the place of the one of its name, or at its
/// end; null parameters: without it.
Node augment_with(const Node& document, const std::string& name, const Node& parameters);

}  // namespace headrace::inline v1::app
