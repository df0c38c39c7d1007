#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace headrace::test {

/// What is wrong with a document of Chrome's trace events, at most twenty faults: the keys that
/// each phase must have, times that go on along each line, complete events that nest on a thread,
/// asynchronous ones that begin before they end, arrows whose ends lie in an event.
class TraceCheck {
 public:
  using Json = nlohmann::json;

  explicit TraceCheck(const Json& document) {
    for (const char* key : {"traceEvents", "displayTimeUnit", "otherData"})
      if (!document.contains(key)) fault(std::string("no ") + key);
    if (!document.contains("traceEvents")) return;
    for (const Json& event : document["traceEvents"])
      if (has_keys(event)) take(event);
    for (const auto& [line, spans] : spans_)
      check_nesting(line, spans);
    for (const auto& [line, name] : unnamed())
      fault("line " + line + " has no " + name);
    for (const auto& [id, from] : open_)
      fault("batch " + id + " does not end");
    for (const auto& [line, at] : ends_)
      if (!lies_in_span(line, at)) fault("an arrow ends in no event of line " + line);
  }

  const std::vector<std::string>& faults() const { return faults_; }
  /// Complete events by name.
  const std::map<std::string, int>& names() const { return names_; }
  /// Events by phase.
  const std::map<std::string, int>& phases() const { return phases_; }
  /// Names of lines.
  const std::set<std::string>& lines() const { return line_names_; }

 private:
  using Nanoseconds = std::int64_t;
  using Span = std::pair<Nanoseconds, Nanoseconds>;  // start, end

  void fault(const std::string& what) {
    if (faults_.size() < 20) faults_.push_back(what);
  }

  static Nanoseconds ns(const Json& microseconds) {
    return std::llround(microseconds.get<double>() * 1000.0);
  }

  bool has_keys(const Json& event) {
    static const std::map<std::string, std::vector<const char*>> needed{
        {"M", {"name", "pid", "tid", "args"}},
        {"X", {"name", "cat", "pid", "tid", "ts", "dur", "args"}},
        {"C", {"name", "pid", "ts", "args"}},
        {"b", {"name", "cat", "id", "pid", "tid", "ts"}},
        {"n", {"name", "cat", "id", "pid", "tid", "ts"}},
        {"e", {"name", "cat", "id", "pid", "tid", "ts"}},
        {"s", {"name", "cat", "id", "pid", "tid", "ts"}},
        {"f", {"name", "cat", "id", "pid", "tid", "ts", "bp"}}};
    const std::string phase = event.value("ph", "");
    const auto keys = needed.find(phase);
    if (keys == needed.end()) {
      fault("unknown phase in " + event.dump());
      return false;
    }
    for (const char* key : keys->second) {
      if (event.contains(key)) continue;
      fault(std::string("no ") + key + " in " + event.dump());
      return false;
    }
    for (const char* key : {"ts", "dur"}) {
      if (!event.contains(key) || (event[key].is_number() && event[key].get<double>() >= 0.0))
        continue;
      fault(std::string(key) + " is no time in " + event.dump());
      return false;
    }
    return true;
  }

  void take(const Json& event) {
    const std::string phase = event["ph"];
    ++phases_[phase];
    const std::string line = event.contains("tid") ? event["tid"].dump() : "";
    if (phase == "M") {
      if (event["name"] == "thread_name") {
        named_.insert(line);
        line_names_.insert(event["args"].at("name").get<std::string>());
      }
      return;
    }
    const Nanoseconds at = ns(event["ts"]);
    if (phase == "X") {
      ++names_[event["name"]];
      spans_[line].emplace_back(at, at + ns(event["dur"]));
      go_on("line " + line, at, event);
    } else if (phase == "C") {
      go_on("counter " + event["name"].get<std::string>(), at, event);
      if (event["args"].empty()) fault("a counter without a number");
      for (const auto& [name, value] : event["args"].items())
        if (!value.is_number()) fault("counter " + name + " is no number");
    } else if (phase == "s" || phase == "f") {
      ends_.emplace_back(line, at);
      go_on(event["cat"].get<std::string>() + event["id"].dump(), at, event);
    } else {
      take_batch(phase, event["id"].dump(), at, event);
    }
  }

  void take_batch(const std::string& phase, const std::string& id, Nanoseconds at,
                  const Json& event) {
    if (phase == "b" && !open_.emplace(id, at).second) fault("batch " + id + " begins twice");
    if (!open_.contains(id)) return fault("batch " + id + " has not begun: " + event.dump());
    if (at < open_[id]) fault("batch " + id + " goes back in time");
    if (phase == "e") open_.erase(id);
  }

  void go_on(const std::string& line, Nanoseconds at, const Json& event) {
    if (last_.contains(line) && at < last_[line])
      fault(line + " goes back in time: " + event.dump());
    last_[line] = at;
  }

  void check_nesting(const std::string& line, const std::vector<Span>& spans) {
    std::vector<Nanoseconds> open;  // ends
    for (const auto& [start, end] : spans) {
      while (!open.empty() && open.back() <= start)
        open.pop_back();
      if (!open.empty() && end > open.back())
        fault("line " + line + ": events overlap at " + std::to_string(start) + " ns");
      open.push_back(end);
    }
  }

  std::vector<std::pair<std::string, std::string>> unnamed() const {
    std::vector<std::pair<std::string, std::string>> lines;
    for (const auto& [line, spans] : spans_)
      if (!named_.contains(line)) lines.emplace_back(line, "name");
    return lines;
  }

  bool lies_in_span(const std::string& line, Nanoseconds at) const {
    const auto spans = spans_.find(line);
    return spans != spans_.end() && std::ranges::any_of(spans->second, [at](const Span& span) {
             return span.first <= at && at <= span.second;
           });
  }

  std::vector<std::string> faults_;
  std::map<std::string, int> names_;
  std::map<std::string, int> phases_;
  std::set<std::string> named_;
  std::set<std::string> line_names_;
  std::map<std::string, std::vector<Span>> spans_;
  std::map<std::string, Nanoseconds> last_;
  std::map<std::string, Nanoseconds> open_;
  std::vector<std::pair<std::string, Nanoseconds>> ends_;
};

}  // namespace headrace::test
