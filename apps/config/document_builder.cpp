#include <headrace/apps/config/document_builder.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/mark.h>

namespace headrace::inline v1::app::detail {
namespace {

bool plain_tag(const std::string& tag) {
  return tag.empty() || tag == "?" || tag == "!";
}

}  // namespace

std::size_t depth_of(const Node& node) {
  const bool inner = node.kind == Node::Kind::list || node.kind == Node::Kind::map;
  std::size_t deepest = 0;
  for (const Node& item : node.items)
    deepest = std::max(deepest, depth_of(item));
  for (const Entry& entry : node.entries)
    deepest = std::max(deepest, depth_of(entry.value));
  return deepest + (inner ? 1 : 0);
}

DocumentBuilder::DocumentBuilder(const std::string& source, const DocumentLimits& limits)
    : source_(std::make_shared<const std::string>(source)), limits_(limits) {}

Node DocumentBuilder::take() {
  return std::move(result_);
}

Place DocumentBuilder::place(const YAML::Mark& mark) const {
  // An override is one short text: its own line numbers would only puzzle.
  if (source_->starts_with("--set")) return {source_};
  return {source_, mark.line + 1, mark.column + 1};
}

void DocumentBuilder::refuse(const Place& where, const std::string& rule) const {
  throw ConfigError(fmt::format("[config] {}: {}", where.text(), rule));
}

void DocumentBuilder::count(std::size_t nodes, const Place& where) {
  nodes_ += nodes;
  if (nodes_ > limits_.nodes) {
    refuse(where, fmt::format("must hold at most {} values, aliases written out", limits_.nodes));
  }
}

void DocumentBuilder::OnDocumentStart(const YAML::Mark& mark) {
  result_.place = place(mark);
}
void DocumentBuilder::OnDocumentEnd() {}

void DocumentBuilder::OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) {
  leaf(Node{.place = place(mark)}, anchor);
}

void DocumentBuilder::OnScalar(const YAML::Mark& mark, const std::string& tag,
                               YAML::anchor_t anchor, const std::string& value) {
  if (!plain_tag(tag)) refuse(place(mark), fmt::format("tags are not supported, got {}", tag));
  leaf(Node{.kind = Node::Kind::scalar, .text = value, .quoted = tag == "!", .place = place(mark)},
       anchor);
}

void DocumentBuilder::OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) {
  const auto it = anchors_.find(anchor);
  if (it == anchors_.end()) refuse(place(mark), "an alias must not stand inside what it names");
  if (open_.size() + it->second.depth > limits_.depth) {
    refuse(place(mark), fmt::format("must be at most {} levels deep", limits_.depth));
  }
  count(it->second.nodes, place(mark));
  place_node(it->second.node);
}

void DocumentBuilder::OnSequenceStart(const YAML::Mark& mark, const std::string& tag,
                                      YAML::anchor_t anchor, YAML::EmitterStyle::value) {
  open(Node::Kind::list, mark, tag, anchor);
}
void DocumentBuilder::OnSequenceEnd() {
  close();
}

void DocumentBuilder::OnMapStart(const YAML::Mark& mark, const std::string& tag,
                                 YAML::anchor_t anchor, YAML::EmitterStyle::value) {
  open(Node::Kind::map, mark, tag, anchor);
}
void DocumentBuilder::OnMapEnd() {
  close();
}

void DocumentBuilder::open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag,
                           YAML::anchor_t anchor) {
  if (!plain_tag(tag)) refuse(place(mark), fmt::format("tags are not supported, got {}", tag));
  if (open_.size() >= limits_.depth) {
    refuse(place(mark), fmt::format("must be at most {} levels deep", limits_.depth));
  }
  const std::size_t before = nodes_;
  count(1, place(mark));
  open_.push_back(
      {.node = Node{.kind = kind, .place = place(mark)}, .anchor = anchor, .nodes_before = before});
}

void DocumentBuilder::close() {
  Open done = std::move(open_.back());
  open_.pop_back();
  if (done.anchor != 0) {
    anchors_[done.anchor] = {done.node, nodes_ - done.nodes_before, depth_of(done.node)};
  }
  place_node(std::move(done.node));
}

void DocumentBuilder::leaf(Node node, YAML::anchor_t anchor) {
  count(1, node.place);
  if (anchor != 0) anchors_[anchor] = {node, 1, 0};
  place_node(std::move(node));
}

void DocumentBuilder::place_node(Node node) {
  if (open_.empty()) {
    result_ = std::move(node);
    return;
  }
  Open& parent = open_.back();
  if (parent.node.kind == Node::Kind::list) {
    parent.node.items.push_back(std::move(node));
    return;
  }
  if (!parent.has_key) {
    if (node.kind != Node::Kind::scalar)
      refuse(node.place, "a key must be a word, got " + describe(node));
    if (const Entry* twin = parent.node.find(node.text)) {
      refuse(node.place, fmt::format("key \"{}\" is written twice, first at {}", node.text,
                                     twin->place.text()));
    }
    parent.has_key = true;
    parent.key = std::move(node.text);
    parent.key_place = node.place;
    return;
  }
  parent.has_key = false;
  parent.node.entries.push_back({std::move(parent.key), parent.key_place, std::move(node)});
}

}  // namespace headrace::inline v1::app::detail
