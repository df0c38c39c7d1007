#pragma once

// Bodies of the templates in fields.h, which includes this file.

#include <headrace/apps/config/fields.h>

namespace headrace::inline v1::app {
namespace detail {

[[noreturn]] void refuse_value(const Node& node, const std::string& path,
                               const std::string& must_be);
[[noreturn]] void refuse_word(const Node& node, const std::string& path,
                              const std::vector<std::string>& words);
bool within(double value, const KeyOptions& options);
std::string range_rule(const KeyOptions& options, std::string (*show)(double));

template <class T>
void read_value(const Node& node, const std::string& path, const KeyOptions& options, T& out) {
  T value{};
  const Scalar read = read_scalar(node, value);
  if (!read.ok) refuse_value(node, path, read.must_be);
  if (!within(read.number, options)) refuse_value(node, path, range_rule(options, &show_limit<T>));
  out = std::move(value);
}

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

}  // namespace detail

template <class T>
void Fields::key(std::string name, T& target, KeyOptions options) {
  Field& field = add(std::move(name), std::move(options));
  field.read = [&field, &target](const Node& node, const std::string& path) {
    detail::read_value(node, path, field.options, target);
  };
  field.write = [&target] { return detail::write_value(target); };
}

template <class Enum>
void Fields::choice(std::string name, Enum& target, std::vector<Choice<Enum>> choices,
                    KeyOptions options) {
  Field& field = add(std::move(name), std::move(options));
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
      field.items.push_back(std::make_unique<Fields>());
      describe(*field.items.back(), target[i]);
      field.items.back()->read_map(node.items[i], path + "." + std::to_string(i) + ".",
                                   *field.items.back());
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
}

}  // namespace headrace::inline v1::app
