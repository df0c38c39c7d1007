#pragma once

#include <headrace/apps/config/document.h>
#include <headrace/apps/config/values.h>
#include <headrace/engine/base/export.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {

class Fields;

/// What is said of a key beside its name and the variable it sets. Limits are in the variable's
/// unit (bytes, seconds).
struct KeyOptions {
  std::string doc{};   ///< one line for a person
  std::string unit{};  ///< "samples"; shown beside the doc
  std::optional<double> min{};
  std::optional<double> above{};  ///< exclusive
  std::optional<double> max{};
  std::optional<double> below{};  ///< exclusive
  bool required = false;
  std::string main{};               ///< of a section: the key of it that a value in its place sets
  std::function<bool()> used_if{};  ///< false once all is read: the key may not be set
  std::string used_when{};          ///< completes "is not used unless ...": "schedule is plateau"
};

/// A key as documentation shows it: one that has a value, a section, or a kind of a tagged entry.
struct KeyDoc {
  std::string name{};
  std::string value{};  ///< as it would be written now; of a section or kind empty
  std::string range{};  ///< "at least 0.0", or the words to choose from
  std::string doc{};
  std::string unit{};
  bool required = false;
  std::string used_when{};     ///< "data.source is hdf5"; empty: always
  std::string main{};          ///< of a kind: the parameter that `name: value` sets
  std::vector<KeyDoc> keys{};  ///< of a section, of an item of a list, of a kind its parameters, or
                               ///< of a tagged entry those beside its name
  std::vector<KeyDoc> kinds{};  ///< of a tagged entry, or of a list of such
};

/// One word of an enumeration.
template <class Enum>
struct Choice {
  std::string name{};
  Enum value{};
};

/// One kind of a tagged entry: `name`, `name: value` (its main parameter) or `name: {parameters}`.
template <class T>
struct Tag {
  std::string name{};
  std::string doc{};                       ///< one line for a person
  std::string main{};                      ///< the parameter that `name: value` sets; empty: none
  std::function<T(const Place&)> make{};   ///< an entry of this kind with every default
  std::function<bool(const T&)> chosen{};  ///< whether an entry is of this kind
  std::function<void(Fields&, T&)> describe{};  ///< its parameters; empty: it has none
  /// Whether its parameters may stand there without its name: `{mean: 0.5, std: 0.2}`. Of one tag
  /// at most, whose parameters are called otherwise than all tags.
  bool bare = false;
};

/// The tag of one alternative of a std::variant.
template <class Alternative, class Variant>
Tag<Variant> alternative(std::string name, std::string main,
                         std::function<void(Fields&, Alternative&)> describe, std::string doc = {});

/// The keys of a configuration (or a section of one), each bound to a variable that holds its
/// default. Describe once:
///
///     void describe(Fields& fields, Optimizer& o) {
///       fields.key("lr", o.lr, {.doc = "learning rate", .above = 0.0, .max = 10.0});
///       fields.choice("kind", o.kind, {{"adamw", Kind::adamw}, {"sgd", Kind::sgd}});
///     }
///     fields.section("optimizer", [&](Fields& f) { describe(f, config.optimizer); });
///
/// The variables must outlive the Fields and stay where they are. Not thread-safe.
class HEADRACE_API Fields {
 public:
  Fields() = default;
  Fields(Fields&&) = default;
  Fields& operator=(Fields&&) = default;

  /// bool, integers, float, double, std::string, std::filesystem::path, Bytes, Duration;
  /// std::optional of these (null or nothing for none); std::vector and std::array of these. Limits
  /// hold for each item of a list.
  template <class T>
  void key(std::string name, T& target, KeyOptions options = {});

  /// A word out of several.
  template <class Enum>
  void choice(std::string name, Enum& target, std::vector<Choice<Enum>> choices,
              KeyOptions options = {});

  /// A map of keys; with KeyOptions::main also `name: value` for one of them.
  void section(std::string name, const std::function<void(Fields&)>& describe,
               KeyOptions options = {});

  /// A list of maps; each item starts from a default-constructed T.
  template <class T>
  void list_of(std::string name, std::vector<T>& target, std::function<void(Fields&, T&)> describe,
               KeyOptions options = {});

  /// A map, or a list of maps, as they are written; whoever reads them knows their keys.
  void map(std::string name, Node& target, KeyOptions options = {});
  void maps(std::string name, std::vector<Node>& target, KeyOptions options = {});

  /// One tagged entry: `plateau`, `plateau: 0.5` or `plateau: {factor: 0.5, patience: 5}`.
  template <class T>
  void tagged(std::string name, T& target, std::vector<Tag<T>> tags, KeyOptions options = {});

  /// A list of tagged entries: `[flip, {rotate: 10}, {erase: {p: 0.25}}]`.
  template <class T>
  void tagged_list(std::string name, std::vector<T>& target, std::vector<Tag<T>> tags,
                   KeyOptions options = {});

  /// The same where keys of every entry stand beside its name: `[{dice: {smooth: 1}, factor: 2}]`.
  template <class T>
  void tagged_list(std::string name, std::vector<T>& target, std::vector<Tag<T>> tags,
                   std::function<void(Fields&, T&)> beside, KeyOptions options = {});

  /// Sets the variables from a document. Throws ConfigError with place, full path of the key and
  /// the way out: unknown, missing, unused, of the wrong type or out of its range. A key of the
  /// file that is unused since a setting ("--set") says so is left at its default. Variables keep
  /// what was set before the error.
  void read(const Node& document);

  /// Every key in use with its present value. Reading it back gives the same values.
  Node write() const;

  /// The same as YAML text (yaml_text.cpp); with docs, each key below a comment.
  std::string to_yaml(bool with_docs = false) const;

  /// The same with docs, and behind that of a key the reason for its value, by its path.
  std::string to_yaml(const std::map<std::string, std::string>& reasons) const;

  /// Whether the key ("train.lr") was in what was read, not left at its default.
  bool was_set(std::string_view path) const;

  /// Full paths of all keys: "train.lr".
  std::vector<std::string> paths() const;

  /// The keys in their order, sections with theirs.
  std::vector<KeyDoc> keys() const;

 private:
  struct Item {
    std::string prefix;
    std::unique_ptr<Fields> fields;
  };
  struct Field {
    std::string name{};
    KeyOptions options{};
    std::string range{};
    std::function<void(const Node&, const std::string& path)> read{};
    std::function<Node()> write{};
    std::function<void(KeyDoc&)> document{};  // adds what only its type knows
    std::unique_ptr<Fields> section{};
    std::vector<Item> items{};  // of a list, as read
    bool set = false;
    Place place{};
    std::optional<Node> usual{};  // of one that was read: its value before
  };

  /// How an entry is read and written.
  template <class T>
  struct TaggedForm {
    std::vector<Tag<T>> tags{};
    std::function<void(Fields&, T&)> beside{};
  };
  template <class T>
  static void read_tagged(Field& field, const Node& node, const std::string& path,
                          const TaggedForm<T>& form, T& target);
  template <class T>
  static Node write_tagged(const TaggedForm<T>& form, T& target);
  template <class T>
  static void document_tagged(Field& field, const TaggedForm<T>& form);
  static KeyDoc doc_of(const Field& field);

  Field& add(std::string name, KeyOptions options);
  Field* find(std::string_view name);
  const Field* find(std::string_view name) const;
  void read_map(const Node& map, const std::string& prefix, const Fields& root);
  static Node section_of(const Field& field, const Entry& entry);
  static void read_item(Field& field, const Node& map, const std::string& prefix,
                        std::unique_ptr<Fields> fields);
  void check_use(const std::string& prefix, const Fields& root);
  static void forget(Field& field, const std::string& path);
  bool is_overridden(const Field& field) const;
  [[noreturn]] void refuse_unused(const Field& field, const std::string& prefix) const;
  const Field* find_by_path(std::string_view path) const;
  [[noreturn]] void refuse_unknown(const Entry& entry, const std::string& prefix,
                                   const Fields& root) const;
  void collect_paths(const std::string& prefix, std::vector<std::string>& paths) const;
  struct YamlForm;
  void write_yaml(std::string& text, const std::string& prefix, const YamlForm& form) const;

  std::vector<std::unique_ptr<Field>> fields_{};
};

/// Reads a file, applies the overrides ("a.b=value", later ones win) and sets the variables. Throws
/// ConfigError.
HEADRACE_API void load(Fields& fields, const std::filesystem::path& file,
                       const std::vector<std::string>& overrides = {});

/// The node as YAML text.
HEADRACE_API std::string to_yaml(const Node& node);

/// The same on one line: "[{flip: 0.5}]".
HEADRACE_API std::string to_flow_yaml(const Node& node);

}  // namespace headrace::inline v1::app

#include <headrace/apps/config/fields_inline.h>
