#include <headrace/apps/config/fields.h>
#include <headrace/engine/base/printable.h>

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr std::string_view word_characters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";

// Three dots at the start of a line end the document.
bool ends_document(const std::string& text) {
  return text.starts_with("...");
}

bool reads_back_plain(const std::string& text) {
  if (text.empty() || ends_document(text)) return false;
  if (text == "null" || text == "Null" || text == "NULL") return false;
  if (text.front() == '-') return false;
  return text.find_first_not_of(word_characters) == std::string::npos;
}

// Whether a word that was plain where it stood is so in any place: numbers with their units, words
// and paths. Of others a line in brackets, the end of a line or the place behind a dash makes more.
bool stays_plain(const std::string& text) {
  const auto keeps = [](const char c) {
    return c == ' ' || c == '+' || word_characters.find(c) != std::string_view::npos;
  };
  if (text.empty() || ends_document(text) || !std::ranges::all_of(text, keeps)) return false;
  return text.front() != '-' ||
         (text.size() > 1 && (text[1] == '.' || (text[1] >= '0' && text[1] <= '9')));
}

std::string double_quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted += fmt::format("\\x{:02x}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string scalar_text(const Node& node) {
  if (node.kind == Node::Kind::null) return "null";
  const bool plain = node.quoted ? reads_back_plain(node.text) : stays_plain(node.text);
  return plain ? node.text : double_quoted(node.text);
}

// With the colon. A key before a colon alone has at most 1024 characters (YAML 1.2, 7.4.2).
std::string key_text(const std::string& key, const std::string& line_break) {
  constexpr std::size_t longest = 1000;
  const std::string text = reads_back_plain(key) ? key : double_quoted(key);
  return text.size() <= longest ? text + ':' : "? " + text + line_break + ':';
}

bool is_flat(const Node& list) {
  return std::all_of(list.items.begin(), list.items.end(), [](const Node& item) {
    return item.kind == Node::Kind::scalar || item.kind == Node::Kind::null;
  });
}

std::string flow_text(const Node& node) {
  std::string text;
  if (node.kind == Node::Kind::list) {
    for (const Node& item : node.items)
      text += (text.empty() ? "" : ", ") + flow_text(item);
    return "[" + text + "]";
  }
  if (node.kind != Node::Kind::map) return scalar_text(node);
  for (const Entry& entry : node.entries)
    text += (text.empty() ? "" : ", ") + key_text(entry.key, " ") + ' ' + flow_text(entry.value);
  return "{" + text + "}";
}

void write_map(const Node& map, std::size_t depth, std::string& text);

// After "key:" or "-": the rest of the line, and the lines below it.
void write_value(const Node& node, std::size_t depth, std::string& text) {
  const bool flat = node.kind == Node::Kind::list && is_flat(node);
  if (node.kind == Node::Kind::map && !node.entries.empty() && !node.in_line) {
    text += '\n';
    write_map(node, depth + 1, text);
  } else if (node.kind == Node::Kind::list && !flat) {
    text += '\n';
    for (const Node& item : node.items) {
      text += std::string(2 * (depth + 1), ' ') + '-';
      write_value(item, depth + 1, text);
    }
  } else {
    text += ' ' + flow_text(node) + '\n';
  }
}

void write_map(const Node& map, std::size_t depth, std::string& text) {
  const std::string indent(2 * depth, ' ');
  for (const Entry& entry : map.entries) {
    text += indent + key_text(entry.key, '\n' + indent);
    write_value(entry.value, depth, text);
  }
}

std::string comment_of(const KeyOptions& options) {
  std::string comment = options.doc;
  if (!options.unit.empty()) comment += (comment.empty() ? "" : ", ") + options.unit;
  std::replace(comment.begin(), comment.end(), '\n', ' ');
  return comment;
}

}  // namespace

std::string to_flow_yaml(const Node& node) {
  return flow_text(node);
}

std::string to_yaml(const Node& node) {
  std::string text;
  if (node.kind == Node::Kind::map && !node.entries.empty()) {
    write_map(node, 0, text);
    return text;
  }
  write_value(node, 0, text);
  return text.substr(text.find_first_not_of(' '));
}

struct Fields::YamlForm {
  bool docs = false;
  const std::map<std::string, std::string>* reasons = nullptr;

  std::string comment(const Field& field, const std::string& path) const {
    if (!docs) return {};
    std::string said = comment_of(field.options);
    if (reasons == nullptr || !reasons->contains(path)) return said;
    return said + (said.empty() ? "chosen: " : "; chosen: ") + printable(reasons->at(path));
  }
};

void Fields::write_yaml(std::string& text, const std::string& prefix, const YamlForm& form) const {
  const auto depth = static_cast<std::size_t>(std::count(prefix.begin(), prefix.end(), '.'));
  const std::string indent(2 * depth, ' ');
  for (const auto& field : fields_) {
    if (field->options.used_if && !field->options.used_if()) continue;
    const std::string comment = form.comment(*field, prefix + field->name);
    if (!comment.empty()) text += indent + "# " + comment + '\n';
    text += indent + key_text(field->name, '\n' + indent);
    if (field->section && !field->section->fields_.empty()) {
      text += '\n';
      field->section->write_yaml(text, prefix + field->name + '.', form);
    } else {
      write_value(field->section ? field->section->write() : field->write(), depth, text);
    }
  }
}

KeyDoc Fields::doc_of(const Field& field) {
  KeyDoc doc{.name = field.name,
             .range = field.range,
             .doc = field.options.doc,
             .unit = field.options.unit,
             .required = field.options.required,
             .used_when = field.options.used_when};
  if (field.write) doc.value = flow_text(field.write());
  if (field.section) doc.keys = field.section->keys();
  if (field.document) field.document(doc);
  return doc;
}

std::vector<KeyDoc> Fields::keys() const {
  std::vector<KeyDoc> keys;
  keys.reserve(fields_.size());
  for (const auto& field : fields_)
    keys.push_back(doc_of(*field));
  return keys;
}

std::string Fields::to_yaml(bool with_docs) const {
  std::string text;
  write_yaml(text, "", {.docs = with_docs});
  return text.empty() ? "{}\n" : text;
}

std::string Fields::to_yaml(const std::map<std::string, std::string>& reasons) const {
  std::string text;
  write_yaml(text, "", {.docs = true, .reasons = &reasons});
  return text;
}

}  // namespace headrace::inline v1::app
