#include <headrace/apps/config/document.h>
#include <headrace/apps/config/document_builder.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_quote = 60;

std::string shortened(const std::string& text) {
  return text.size() <= longest_quote ? text : text.substr(0, longest_quote) + "...";
}

// The characters that YAML allows (1.2, 5.1): of others yaml-cpp makes what it likes.
void require_text(std::string_view text, const std::string& source) {
  const auto odd = std::ranges::find_if(text, [](const char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7f;
  });
  if (odd == text.end()) return;
  throw ConfigError(fmt::format(
      "[config] {}: must be UTF-8 text without control characters, got the byte 0x{:02x} in line "
      "{}",
      source, static_cast<unsigned char>(*odd), std::count(text.begin(), odd, '\n') + 1));
}

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> parts;
  while (true) {
    const auto dot = path.find('.');
    parts.emplace_back(path.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    path.remove_prefix(dot + 1);
  }
}

Node& step_into_list(Node& list, const std::string& part, const std::string& assignment) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
  if (error != std::errc{} || end != part.data() + part.size() || index >= list.items.size()) {
    throw ConfigError(fmt::format("[config] --set {}: \"{}\" must be a place in a list of {}",
                                  assignment, part, list.items.size()));
  }
  return list.items[index];
}

Node& step_into(Node& node, const std::string& part, const Place& place,
                const std::string& assignment) {
  if (node.kind == Node::Kind::list) return step_into_list(node, part, assignment);
  if (node.kind != Node::Kind::map) node = Node{.kind = Node::Kind::map, .place = place};
  Entry* entry = node.find(part);
  if (entry == nullptr) {
    node.entries.push_back({part, place, Node{.place = place}});
    entry = &node.entries.back();
  }
  entry->place = place;
  return entry->value;
}

}  // namespace

std::string Place::text() const {
  if (!source) return "configuration";
  return line > 0 ? fmt::format("{}:{}:{}", *source, line, column) : *source;
}

bool Place::is_setting() const {
  return source && source->starts_with("--set ");
}

const Entry* Node::find(std::string_view key) const {
  const auto it =
      std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.key == key; });
  return it == entries.end() ? nullptr : &*it;
}

Entry* Node::find(std::string_view key) {
  return const_cast<Entry*>(std::as_const(*this).find(key));
}

std::string describe(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return "nothing";
    case Node::Kind::scalar:
      return fmt::format("\"{}\"", shortened(node.text));
    case Node::Kind::list:
      return fmt::format("a list of {}", node.items.size());
    case Node::Kind::map:
      break;
  }
  return "a map";
}

Node parse_document(std::string_view text, const std::string& source,
                    const DocumentLimits& limits) {
  if (text.size() > limits.bytes) {
    throw ConfigError(fmt::format("[config] {}: a configuration must be at most {} bytes, got {}",
                                  source, limits.bytes, text.size()));
  }
  require_text(text, source);
  detail::DocumentBuilder builder(source, limits);
  std::istringstream stream{std::string(text)};
  try {
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    if (parser.HandleNextDocument(builder)) {
      throw ConfigError(fmt::format("[config] {}: must hold one document, got several", source));
    }
  } catch (const YAML::Exception& error) {
    throw ConfigError(fmt::format("[config] {}:{}:{}: must be YAML: {}", source,
                                  error.mark.line + 1, error.mark.column + 1, error.msg));
  }
  return builder.take();
}

Node read_document(const fs::path& file, const DocumentLimits& limits) {
  std::error_code error;
  if (fs::is_directory(file, error)) {
    throw ConfigError(fmt::format("[config] {}: must be a file, got a folder", file.string()));
  }
  std::ifstream stream(file, std::ios::binary);
  if (!stream)
    throw ConfigError(fmt::format("[config] {}: cannot be read; check the path", file.string()));
  std::string text(limits.bytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return parse_document(text, file.string(), limits);
}

void apply_override(Node& root, const std::string& assignment, const DocumentLimits& limits) {
  const auto equals = assignment.find('=');
  const std::string path = assignment.substr(0, equals);
  const std::vector<std::string> parts = split_path(path);
  const bool hole =
      std::any_of(parts.begin(), parts.end(), [](const std::string& part) { return part.empty(); });
  if (equals == std::string::npos || hole || parts.size() > limits.depth) {
    throw ConfigError(
        fmt::format("[config] --set must be key.of.it=value, got \"{}\"", shortened(assignment)));
  }
  const std::string source = "--set " + shortened(assignment);
  const Place place{std::make_shared<const std::string>(source)};
  Node* node = &root;
  for (const std::string& part : parts)
    node = &step_into(*node, part, place, assignment);
  Node value = parse_document(assignment.substr(equals + 1), source, limits);
  if (parts.size() + detail::depth_of(value) > limits.depth) {
    throw ConfigError(
        fmt::format("[config] {}: must be at most {} levels deep, {} of them its key's", source,
                    limits.depth, parts.size()));
  }
  *node = std::move(value);
}

const Node* find_path(const Node& document, std::string_view path) {
  const Node* node = &document;
  while (!path.empty()) {
    const auto dot = path.find('.');
    const Entry* entry = node->find(path.substr(0, dot));
    if (entry == nullptr) return nullptr;
    node = &entry->value;
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  }
  return node;
}

Node* find_path(Node& document, std::string_view path) {
  return const_cast<Node*>(find_path(std::as_const(document), path));
}

}  // namespace headrace::inline v1::app
