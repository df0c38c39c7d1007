#pragma once

#include <headrace/apps/config/document.h>
#include <headrace/engine/base/export.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::app {

/// A key that configurations had once.
struct MovedKey {
  std::string old{};   ///< its path, "data.flip"; "source.*" for all keys of a section
  std::string now{};   ///< its path now: "data.prefetch"; "data.*"; empty: nothing took its place
  std::string said{};  ///< what it is now, for a person, where that is not its path
  /// What is to stand at `now`, seen from the whole old document; empty: the value that the key
  /// has.
  std::function<Node(const Node& document)> write{};
};

/// Throws ConfigError where the document has such keys: names all of them with their places and
/// says what is to be written instead.
HEADRACE_API void refuse_moved(const std::vector<MovedKey>& keys, const Node& document);

/// The value at a path, "training.schedule"; null where there is none.
HEADRACE_API const Node* find_path(const Node& document, std::string_view path);

}  // namespace headrace::inline v1::app
