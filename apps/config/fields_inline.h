#pragma once

// Bodies of the templates in fields.h, which includes this file.

#include <headrace/apps/config/fields.h>
#include <headrace/engine/base/export.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <variant>

namespace headrace::inline v1::app {
namespace detail {

/// A tagged entry as it is written.
struct Tagged {
  std::string name{};
  Place place{};
  Node value{};   ///< null: only the name stands there
  Node beside{};  ///< keys that stand beside the name, a map
};

/// What an entry may look like.
struct TaggedNames {
  std::vector<std::string> tags{};
  std::vector<std::string> beside{};  ///< keys that may stand beside the name
  std::string bare{};  ///< the tag whose parameters may stand without its name; empty: none
};

/// Throws ConfigError for what is no tagged entry, or one of an unknown name.
HEADRACE_API Tagged tagged_entry(const Node& node, const std::string& path,
                                 const TaggedNames& names);

/// The parameters as a map; `path` ends with the entry's name. Throws ConfigError for a value where
/// the entry has no main parameter, and for parameters that are not among those of `paths`.
HEADRACE_API Node parameters_of(const Tagged& entry, const std::string& path,
                                const std::string& main, const std::vector<std::string>& paths);

/// An entry to be written.
HEADRACE_API Node tagged_node(const std::string& name, Node parameters, Node beside);

[[noreturn]] HEADRACE_API void refuse_value(const Node& node, const std::string& path,
                                            const std::string& must_be);
[[noreturn]] HEADRACE_API void refuse_word(const Node& node, const std::string& path,
                                           const std::vector<std::string>& words);
HEADRACE_API bool within(double value, const KeyOptions& options);
HEADRACE_API std::string range_rule(const KeyOptions& options, std::string (*show)(double));

/// What limits hold for: the value, or each item of a list.
template <class T>
struct Item {
  using Type = T;
};
template <class T>
struct Item<std::optional<T>> : Item<T> {};
template <class T>
struct Item<std::vector<T>> : Item<T> {};
template <class T, std::size_t Count>
struct Item<std::array<T, Count>> : Item<T> {};

template <class T>
void read_value(const Node& node, const std::string& path, const KeyOptions& options, T& out) {
  T value{};
  const Scalar read = read_scalar(node, value);
  if (!read.ok) refuse_value(node, path, read.must_be);
  if (!within(read.number, options)) refuse_value(node, path, range_rule(options, &show_limit<T>));
  out = std::move(value);
}

// Lists may be of lists.
template <class T>
void read_value(const Node& node, const std::string& path, const KeyOptions& options,
                std::vector<T>& out);
template <class T, std::size_t Count>
void read_value(const Node& node, const std::string& path, const KeyOptions& options,
                std::array<T, Count>& out);

template <class T>
void read_value(const Node& node, const std::string& path, const KeyOptions& options,
                std::optional<T>& out) {
  if (node.kind == Node::Kind::null) {
    out.reset();
    return;
  }
  T value{};
  read_value(node, path, options, value);
  out = std::move(value);
}

template <class T>
void read_value(const Node& node, const std::string& path, const KeyOptions& options,
                std::vector<T>& out) {
  if (node.kind != Node::Kind::list) refuse_value(node, path, "a list");
  std::vector<T> values;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    T value{};
    read_value(node.items[i], path + "." + std::to_string(i), options, value);
    values.push_back(std::move(value));
  }
  out = std::move(values);
}

template <class T, std::size_t Count>
void read_value(const Node& node, const std::string& path, const KeyOptions& options,
                std::array<T, Count>& out) {
  std::vector<T> values;
  if (node.kind == Node::Kind::list) read_value(node, path, options, values);
  if (values.size() != Count) refuse_value(node, path, "a list of " + std::to_string(Count));
  std::move(values.begin(), values.end(), out.begin());
}

template <class T>
Node write_value(const std::vector<T>& values);
template <class T, std::size_t Count>
Node write_value(const std::array<T, Count>& values);

template <class T>
Node write_value(const T& value) {
  return write_scalar(value);
}

template <class T>
Node write_value(const std::optional<T>& value) {
  return value ? write_value(*value) : Node{};
}

template <class T>
Node write_value(const std::vector<T>& values) {
  Node list{.kind = Node::Kind::list};
  for (const auto& value : values)
    list.items.push_back(write_value(static_cast<const T&>(value)));
  return list;
}

template <class T, std::size_t Count>
Node write_value(const std::array<T, Count>& values) {
  return write_value(std::vector<T>(values.begin(), values.end()));
}

}  // namespace detail

template <class T>
void Fields::key(std::string name, T& target, KeyOptions options) {
  Field& field = add(std::move(name), std::move(options));
  field.range =
      detail::range_rule(field.options, &detail::show_limit<typename detail::Item<T>::Type>);
  field.read = [&field, &target](const Node& node, const std::string& path) {
    detail::read_value(node, path, field.options, target);
  };
  field.write = [&target] { return detail::write_value(target); };
}

template <class Enum>
void Fields::choice(std::string name, Enum& target, std::vector<Choice<Enum>> choices,
                    KeyOptions options) {
  Field& field = add(std::move(name), std::move(options));
  for (const Choice<Enum>& choice : choices)
    field.range += (field.range.empty() ? "" : ", ") + choice.name;
  field.read = [&target, choices](const Node& node, const std::string& path) {
    std::vector<std::string> words;
    for (const Choice<Enum>& choice : choices) {
      if (node.kind == Node::Kind::scalar && node.text == choice.name) {
        target = choice.value;
        return;
      }
      words.push_back(choice.name);
    }
    detail::refuse_word(node, path, words);
  };
  field.write = [&target, choices] {
    for (const Choice<Enum>& choice : choices) {
      if (choice.value == target) return detail::write_scalar(choice.name);
    }
    return Node{};
  };
}

template <class T>
void Fields::list_of(std::string name, std::vector<T>& target,
                     std::function<void(Fields&, T&)> describe, KeyOptions options) {
  Field& field = add(std::move(name), std::move(options));
  field.read = [&field, &target, describe](const Node& node, const std::string& path) {
    if (node.kind != Node::Kind::list) detail::refuse_value(node, path, "a list");
    field.items.clear();
    target.clear();
    target.resize(node.items.size());
    for (std::size_t i = 0; i < target.size(); ++i) {
      auto fields = std::make_unique<Fields>();
      describe(*fields, target[i]);
      read_item(field, node.items[i], path + "." + std::to_string(i) + ".", std::move(fields));
    }
  };
  field.write = [&target, describe] {
    Node list{.kind = Node::Kind::list};
    for (T& item : target) {
      Fields fields;
      describe(fields, item);
      list.items.push_back(fields.write());
    }
    return list;
  };
  field.document = [describe](KeyDoc& doc) {
    T item{};
    Fields fields;
    describe(fields, item);
    doc.keys = fields.keys();
  };
}

template <class T>
void Fields::read_tagged(Field& field, const Node& node, const std::string& path,
                         const TaggedForm<T>& form, T& target) {
  detail::TaggedNames names;
  for (const Tag<T>& tag : form.tags) {
    names.tags.push_back(tag.name);
    if (tag.bare) names.bare = tag.name;
  }
  auto beside = std::make_unique<Fields>();
  if (form.beside) form.beside(*beside, target);
  names.beside = beside->paths();
  const detail::Tagged entry = detail::tagged_entry(node, path, names);
  const auto tag = std::find_if(form.tags.begin(), form.tags.end(),
                                [&](const Tag<T>& one) { return one.name == entry.name; });
  target = tag->make(entry.place);
  auto fields = std::make_unique<Fields>();
  if (tag->describe) tag->describe(*fields, target);
  const std::string full = path + "." + entry.name;
  const Node parameters = detail::parameters_of(entry, full, tag->main, fields->paths());
  read_item(field, parameters, full + ".", std::move(fields));
  if (form.beside) read_item(field, entry.beside, path + ".", std::move(beside));
}

template <class T>
Node Fields::write_tagged(const TaggedForm<T>& form, T& target) {
  for (const Tag<T>& tag : form.tags) {
    if (!tag.chosen(target)) continue;
    Fields fields;
    if (tag.describe) tag.describe(fields, target);
    Fields beside;
    if (form.beside) form.beside(beside, target);
    return detail::tagged_node(tag.name, fields.write(), beside.write());
  }
  return Node{};
}

template <class T>
void Fields::document_tagged(Field& field, const TaggedForm<T>& form) {
  for (const Tag<T>& tag : form.tags)
    field.range += (field.range.empty() ? "" : ", ") + tag.name;
  field.document = [form](KeyDoc& doc) {
    T any{};
    Fields beside;
    if (form.beside) form.beside(beside, any);
    doc.keys = beside.keys();
    for (const Tag<T>& tag : form.tags) {
      T entry = tag.make(Place{});
      Fields parameters;
      if (tag.describe) tag.describe(parameters, entry);
      doc.kinds.push_back(
          {.name = tag.name, .doc = tag.doc, .main = tag.main, .keys = parameters.keys()});
    }
  };
}

template <class T>
void Fields::tagged(std::string name, T& target, std::vector<Tag<T>> tags, KeyOptions options) {
  Field& field = add(std::move(name), std::move(options));
  const TaggedForm<T> form{.tags = std::move(tags)};
  field.read = [&field, &target, form](const Node& node, const std::string& path) {
    field.items.clear();
    read_tagged(field, node, path, form, target);
  };
  field.write = [&target, form] { return write_tagged(form, target); };
  document_tagged(field, form);
}

template <class T>
void Fields::tagged_list(std::string name, std::vector<T>& target, std::vector<Tag<T>> tags,
                         KeyOptions options) {
  tagged_list(std::move(name), target, std::move(tags), {}, std::move(options));
}

template <class T>
void Fields::tagged_list(std::string name, std::vector<T>& target, std::vector<Tag<T>> tags,
                         std::function<void(Fields&, T&)> beside, KeyOptions options) {
  Field& field = add(std::move(name), std::move(options));
  const TaggedForm<T> form{.tags = std::move(tags), .beside = std::move(beside)};
  field.read = [&field, &target, form](const Node& node, const std::string& path) {
    if (node.kind != Node::Kind::list) {
      detail::refuse_value(node, path, "a list of entries, [] for none: \"- name: value\" each");
    }
    field.items.clear();
    target.clear();
    target.resize(node.items.size());
    for (std::size_t i = 0; i < target.size(); ++i)
      read_tagged(field, node.items[i], path + "." + std::to_string(i), form, target[i]);
  };
  field.write = [&target, form] {
    Node list{.kind = Node::Kind::list};
    for (T& item : target)
      list.items.push_back(write_tagged(form, item));
    return list;
  };
  document_tagged(field, form);
}

template <class Alternative, class Variant>
Tag<Variant> alternative(std::string name, std::string main,
                         std::function<void(Fields&, Alternative&)> describe, std::string doc) {
  Tag<Variant> tag{.name = std::move(name), .doc = std::move(doc), .main = std::move(main)};
  tag.make = [](const Place&) { return Variant(Alternative{}); };
  tag.chosen = [](const Variant& value) { return std::holds_alternative<Alternative>(value); };
  tag.describe = [describe](Fields& fields, Variant& value) {
    if (describe) describe(fields, std::get<Alternative>(value));
  };
  return tag;
}

}  // namespace headrace::inline v1::app
