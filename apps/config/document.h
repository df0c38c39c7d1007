#pragma once

#include <headrace/engine/base/export.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::app {

/// Where a value was written.
struct HEADRACE_API Place {
  std::shared_ptr<const std::string> source{};  ///< a file's name, or "--set a.b=c"
  int line = 0;                                 ///< from 1; 0 for a source without lines
  int column = 0;

  /// "train.yaml:12:5"
  std::string text() const;
  /// Whether it is one of the command line's "--set a.b=c".
  bool is_setting() const;
};

/// A key of a map and its value.
template <class Value>
struct EntryOf {
  std::string key{};
  Place place{};
  Value value{};
};

struct Node;
using Entry = EntryOf<Node>;

/// A value of a YAML document, with its place. Aliases have been replaced by copies.
struct HEADRACE_API Node {
  enum class Kind { null, scalar, list, map };

  Kind kind = Kind::null;
  std::string text{};    ///< of a scalar
  bool quoted = false;   ///< a quoted scalar is never null, a number or a truth value
  bool in_line = false;  ///< a map that is written as {key: value}
  Place place{};
  std::vector<Node> items{};
  std::vector<Entry> entries{};

  const Entry* find(std::string_view key) const;
  Entry* find(std::string_view key);
};

/// "a list", "a map", "\"text\"": what an error says it got.
HEADRACE_API std::string describe(const Node& node);

/// What a document may be at most; a configuration file that exceeds it is refused.
struct DocumentLimits {
  std::size_t bytes = 1 << 20;
  std::size_t depth = 64;
  std::size_t nodes = 20'000;  ///< with aliases written out
};

/// Parses one YAML document of UTF-8 text. Throws ConfigError with the place for syntax errors, a
/// control character, a key written twice, a key that is no scalar, more than one document, or a
/// limit exceeded.
HEADRACE_API Node parse_document(std::string_view text, const std::string& source,
                                 const DocumentLimits& limits = {});

/// Reads and parses a file. Throws ConfigError.
HEADRACE_API Node read_document(const std::filesystem::path& file,
                                const DocumentLimits& limits = {});

/// Applies "a.b=value": the value is YAML and replaces what stood at that path. Throws ConfigError.
HEADRACE_API void apply_override(Node& root, const std::string& assignment,
                                 const DocumentLimits& limits = {});

/// The value at a path, "training.schedule"; null where there is none.
HEADRACE_API const Node* find_path(const Node& document, std::string_view path);
HEADRACE_API Node* find_path(Node& document, std::string_view path);

}  // namespace headrace::inline v1::app
