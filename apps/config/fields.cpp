#include <headrace/apps/config/fields.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/nearest.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::inline v1::app {
namespace detail {
namespace {

// What stands in a map whose keys have these paths: its own keys and sections.
std::vector<std::string> first_names(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    std::string name = path.substr(0, path.find('.'));
    if (names.empty() || names.back() != name) names.push_back(std::move(name));
  }
  return names;
}

[[noreturn]] void refuse_parameter(const Entry& parameter, const std::string& path,
                                   const std::vector<std::string>& known) {
  const auto meant = nearest_name(parameter.key, known);
  std::string way_out = "; it takes no parameters";
  if (!known.empty()) way_out = fmt::format("; it takes {}", fmt::join(known, ", "));
  if (meant) way_out = fmt::format("; did you mean \"{}\"?", *meant);
  throw ConfigError(fmt::format("[config] {}: key \"{}.{}\" is not known{}", parameter.place.text(),
                                path, parameter.key, way_out));
}

// A setting has gone into an entry of another kind.
[[noreturn]] void refuse_other_kind(const Entry& written, const Entry& setting,
                                    const std::string& path) {
  Node entry{.kind = Node::Kind::map};
  entry.entries.push_back(setting);
  throw ConfigError(fmt::format(
      "[config] {}: key \"{}\" is {} ({}), which has no {}; to have {} instead: --set '{}={}'",
      setting.place.text(), path, written.key, written.place.text(), setting.key, setting.key, path,
      to_flow_yaml(entry)));
}

}  // namespace

void refuse_value(const Node& node, const std::string& path, const std::string& must_be) {
  throw ConfigError(fmt::format("[config] {}: key \"{}\" must be {}, got {}", node.place.text(),
                                path, must_be, describe(node)));
}

void refuse_word(const Node& node, const std::string& path, const std::vector<std::string>& words) {
  throw ConfigError(fmt::format("[config] {}: key \"{}\" must be one of {}, got {}{}",
                                node.place.text(), path, fmt::join(words, ", "), describe(node),
                                did_you_mean(node.text, words)));
}

Tagged tagged_entry(const Node& node, const std::string& path, const TaggedNames& names) {
  const auto is_one_of = [](const std::vector<std::string>& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  const auto refuse_unknown = [&](const std::string& name, const Place& place) {
    refuse_word({.kind = Node::Kind::scalar, .text = name, .quoted = false, .place = place}, path,
                names.tags);
  };
  if (node.kind == Node::Kind::scalar) {
    if (!is_one_of(names.tags, node.text)) refuse_unknown(node.text, node.place);
    return {.name = node.text, .place = node.place};
  }
  if (node.kind != Node::Kind::map || node.entries.empty())
    refuse_value(node, path, "an entry: name, name: value or name: {parameters}");
  if (!names.bare.empty() && !is_one_of(names.tags, node.entries.front().key))
    return {.name = names.bare, .place = node.place, .value = node};
  Tagged tagged{.beside = {.kind = Node::Kind::map, .place = node.place}};
  std::vector<const Entry*> own;
  for (const Entry& entry : node.entries) {
    if (is_one_of(names.beside, entry.key))
      tagged.beside.entries.push_back(entry);
    else
      own.push_back(&entry);
  }
  if (own.empty())
    refuse_value(node, path, fmt::format("an entry of one of {}", fmt::join(names.tags, ", ")));
  if (own.size() > 1) {
    if (own.back()->place.is_setting() && !own.front()->place.is_setting())
      refuse_other_kind(*own.front(), *own.back(), path);
    refuse_value(own[1]->value, path,
                 fmt::format("one entry, got \"{}\" and \"{}\" in it", own[0]->key, own[1]->key));
  }
  if (!is_one_of(names.tags, own.front()->key))
    refuse_unknown(own.front()->key, own.front()->place);
  tagged.name = own.front()->key;
  tagged.place = own.front()->place;
  tagged.value = own.front()->value;
  return tagged;
}

Node parameters_of(const Tagged& entry, const std::string& path, const std::string& main,
                   const std::vector<std::string>& paths) {
  const std::vector<std::string> known = first_names(paths);
  if (entry.value.kind == Node::Kind::null) return {.kind = Node::Kind::map, .place = entry.place};
  if (entry.value.kind == Node::Kind::map) {
    for (const Entry& parameter : entry.value.entries) {
      if (std::find(known.begin(), known.end(), parameter.key) == known.end())
        refuse_parameter(parameter, path, known);
    }
    return entry.value;
  }
  if (main.empty()) {
    refuse_value(entry.value, path,
                 known.empty() ? "written without a value"
                               : fmt::format("written with its parameters: {{{}: ...}}", known[0]));
  }
  Node map{.kind = Node::Kind::map, .place = entry.value.place};
  map.entries.push_back({.key = main, .place = entry.place, .value = entry.value});
  return map;
}

Node tagged_node(const std::string& name, Node parameters, Node beside) {
  if (parameters.entries.empty() && beside.entries.empty())
    return {.kind = Node::Kind::scalar, .text = name, .quoted = true};
  parameters.in_line = true;
  Node map{.kind = Node::Kind::map, .in_line = true};
  map.entries.push_back({.key = name, .place = {}, .value = std::move(parameters)});
  for (Entry& entry : beside.entries)
    map.entries.push_back(std::move(entry));
  return map;
}

bool within(double value, const KeyOptions& options) {
  return !(options.min && value < *options.min) && !(options.max && value > *options.max) &&
         !(options.above && value <= *options.above) && !(options.below && value >= *options.below);
}

std::string range_rule(const KeyOptions& options, std::string (*show)(double)) {
  std::vector<std::string> rules;
  if (options.min) rules.push_back("at least " + show(*options.min));
  if (options.above) rules.push_back("above " + show(*options.above));
  if (options.max) rules.push_back("at most " + show(*options.max));
  if (options.below) rules.push_back("below " + show(*options.below));
  return fmt::format("{}", fmt::join(rules, " and "));
}

}  // namespace detail

Fields::Field& Fields::add(std::string name, KeyOptions options) {
  if (find(name) != nullptr) throw std::logic_error("key described twice: " + name);
  fields_.push_back(std::make_unique<Field>());
  fields_.back()->name = std::move(name);
  fields_.back()->options = std::move(options);
  return *fields_.back();
}

const Fields::Field* Fields::find(std::string_view name) const {
  const auto it = std::find_if(fields_.begin(), fields_.end(),
                               [&](const auto& field) { return field->name == name; });
  return it == fields_.end() ? nullptr : it->get();
}

Fields::Field* Fields::find(std::string_view name) {
  return const_cast<Field*>(std::as_const(*this).find(name));
}

void Fields::section(std::string name, const std::function<void(Fields&)>& describe,
                     KeyOptions options) {
  Field& field = add(std::move(name), std::move(options));
  field.section = std::make_unique<Fields>();
  describe(*field.section);
}

void Fields::map(std::string name, Node& target, KeyOptions options) {
  Field& field = add(std::move(name), std::move(options));
  field.range = "map";
  field.read = [&target](const Node& node, const std::string& path) {
    if (node.kind != Node::Kind::map && node.kind != Node::Kind::null)
      detail::refuse_value(node, path, "a map of keys");
    target = node;
  };
  field.write = [&target] {
    return target.kind == Node::Kind::map ? target : Node{.kind = Node::Kind::map};
  };
}

void Fields::maps(std::string name, std::vector<Node>& target, KeyOptions options) {
  Field& field = add(std::move(name), std::move(options));
  field.range = "list of maps";
  field.read = [&target](const Node& node, const std::string& path) {
    if (node.kind != Node::Kind::list && node.kind != Node::Kind::null)
      detail::refuse_value(node, path, "a list");
    target = node.items;
  };
  field.write = [&target] { return Node{.kind = Node::Kind::list, .items = target}; };
}

void Fields::refuse_unknown(const Entry& entry, const std::string& prefix,
                            const Fields& root) const {
  std::vector<std::string> siblings;
  for (const auto& field : fields_)
    siblings.push_back(field->name);
  std::optional<std::string> meant = nearest_name(entry.key, siblings);
  if (meant) meant = prefix + *meant;
  const std::vector<std::string> all = root.paths();
  for (const std::string& path : all) {
    if (!meant && path.ends_with("." + entry.key)) meant = path;
  }
  if (!meant) meant = nearest_name(prefix + entry.key, all);
  throw ConfigError(fmt::format("[config] {}: key \"{}{}\" is not known{}", entry.place.text(),
                                prefix, entry.key,
                                meant ? fmt::format("; did you mean \"{}\"?", *meant) : ""));
}

void Fields::read_map(const Node& map, const std::string& prefix, const Fields& root) {
  const std::string path = prefix.substr(0, prefix.empty() ? 0 : prefix.size() - 1);
  if (map.kind != Node::Kind::map && map.kind != Node::Kind::null) {
    if (path.empty())
      throw ConfigError(fmt::format("[config] {}: must be a map of keys", map.place.text()));
    detail::refuse_value(map, path, "a map of keys");
  }
  for (const Entry& entry : map.entries) {
    Field* field = find(entry.key);
    if (field == nullptr) refuse_unknown(entry, prefix, root);
    if (!field->section && !field->usual) field->usual = field->write();
    field->set = true;
    field->place = entry.place;
    if (field->section) {
      field->section->read_map(section_of(*field, entry), prefix + entry.key + ".", root);
    } else {
      field->read(entry.value, prefix + entry.key);
    }
  }
}

Node Fields::section_of(const Field& field, const Entry& entry) {
  if (field.options.main.empty() || entry.value.kind != Node::Kind::scalar) return entry.value;
  Node map{.kind = Node::Kind::map, .place = entry.value.place};
  map.entries.push_back({.key = field.options.main, .place = entry.place, .value = entry.value});
  return map;
}

void Fields::read_item(Field& field, const Node& map, const std::string& prefix,
                       std::unique_ptr<Fields> fields) {
  fields->read_map(map, prefix, *fields);
  field.items.push_back({.prefix = prefix, .fields = std::move(fields)});
}

// What the file says of a key that a setting has made useless does not count.
void Fields::forget(Field& field, const std::string& path) {
  if (field.section)
    for (const auto& one : field.section->fields_)
      forget(*one, path + "." + one->name);
  else if (field.set)
    field.read(*field.usual, path);
  field.items.clear();
  field.set = false;
}

void Fields::check_use(const std::string& prefix, const Fields& root) {
  for (const auto& field : fields_) {
    const bool used = !field->options.used_if || field->options.used_if();
    if (field->set && !used) {
      if (!root.is_overridden(*field)) root.refuse_unused(*field, prefix);
      forget(*field, prefix + field->name);
    }
    if (used && field->options.required && !field->set) {
      throw ConfigError(fmt::format("[config] key \"{}{}\" must be given{}", prefix, field->name,
                                    field->options.doc.empty() ? "" : ": " + field->options.doc));
    }
    if (used && field->section) field->section->check_use(prefix + field->name + ".", root);
    for (const Item& item : field->items)
      item.fields->check_use(item.prefix, *item.fields);
  }
}

// Whether the file says it, and a setting says what decides: a key in "data.source is hdf5".
bool Fields::is_overridden(const Field& field) const {
  if (field.place.is_setting()) return false;
  std::istringstream words(field.options.used_when);
  for (std::string word; words >> word;) {
    const Field* by = find_by_path(word);
    if (by != nullptr && by->place.is_setting()) return true;
  }
  return false;
}

void Fields::refuse_unused(const Field& field, const std::string& prefix) const {
  throw ConfigError(fmt::format("[config] {}: key \"{}{}\" is not used unless {}; remove it",
                                field.place.text(), prefix, field.name, field.options.used_when));
}

const Fields::Field* Fields::find_by_path(std::string_view path) const {
  const auto dot = path.find('.');
  const Field* field = find(path.substr(0, dot));
  if (field == nullptr || dot == std::string_view::npos) return field;
  return field->section ? field->section->find_by_path(path.substr(dot + 1)) : nullptr;
}

void Fields::read(const Node& document) {
  read_map(document, "", *this);
  check_use("", *this);
}

Node Fields::write() const {
  Node map{.kind = Node::Kind::map};
  for (const auto& field : fields_) {
    if (field->options.used_if && !field->options.used_if()) continue;
    Entry entry;
    entry.key = field->name;
    entry.value = field->section ? field->section->write() : field->write();
    map.entries.push_back(std::move(entry));
  }
  return map;
}

bool Fields::was_set(std::string_view path) const {
  const Field* field = find_by_path(path);
  return field != nullptr && field->set;
}

void Fields::collect_paths(const std::string& prefix, std::vector<std::string>& paths) const {
  for (const auto& field : fields_) {
    if (field->section) {
      field->section->collect_paths(prefix + field->name + ".", paths);
    } else {
      paths.push_back(prefix + field->name);
    }
  }
}

std::vector<std::string> Fields::paths() const {
  std::vector<std::string> result;
  collect_paths("", result);
  return result;
}

void load(Fields& fields, const std::filesystem::path& file,
          const std::vector<std::string>& overrides) {
  Node document = read_document(file);
  for (const std::string& assignment : overrides)
    apply_override(document, assignment);
  fields.read(document);
}

}  // namespace headrace::inline v1::app
