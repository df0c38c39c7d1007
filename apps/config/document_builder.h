#pragma once

#include <headrace/apps/config/document.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <yaml-cpp/eventhandler.h>

namespace headrace::inline v1::app::detail {

/// How many lists and maps lie inside each other in `node`, itself among them.
std::size_t depth_of(const Node& node);

/// Makes nodes of the parser's events and stops as soon as a limit is passed. Throws ConfigError.
class DocumentBuilder final : public YAML::EventHandler {
 public:
  DocumentBuilder(const std::string& source, const DocumentLimits& limits);

  /// The document; null if there was none.
  Node take();

  void OnDocumentStart(const YAML::Mark& mark) override;
  void OnDocumentEnd() override;
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override;
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override;
  void OnSequenceEnd() override;
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override;
  void OnMapEnd() override;

 private:
  struct Open {
    Node node;
    YAML::anchor_t anchor = 0;
    std::size_t nodes_before = 0;
    bool has_key = false;
    std::string key{};
    Place key_place{};
  };
  struct Anchored {
    Node node;
    std::size_t nodes = 1;
    std::size_t depth = 0;
  };

  Place place(const YAML::Mark& mark) const;
  [[noreturn]] void refuse(const Place& where, const std::string& rule) const;
  void count(std::size_t nodes, const Place& where);
  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor);
  void close();
  void leaf(Node node, YAML::anchor_t anchor);
  void place_node(Node node);

  std::shared_ptr<const std::string> source_;
  DocumentLimits limits_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  std::size_t nodes_ = 0;
  Node result_;
};

}  // namespace headrace::inline v1::app::detail
