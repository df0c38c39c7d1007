#include <headrace/apps/report/run_events.h>
#include <headrace/apps/terminal/utc.h>

#include <algorithm>

#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {
namespace {

constexpr std::size_t most_said = 200;

class EventReader {
 public:
  void take(const nlohmann::json& event) {
    const auto at = parse_utc(text_in(event, "time"));
    if (!at) return;
    if (!events_.first) events_.first = at;
    events_.last = at;
    events_.ending.take(event);
    const std::string name = text_in(event, "event");
    if (name == "start" || name == "resume") start(event);
    events_.resumed |= name == "resume";
    if (name == "verdict") verdict(event, *at);
    if (name == "warning") warning(text_in(event, "said"), *at);
  }

  RunEvents events(LineCount count) {
    events_.count = count;
    return std::move(events_);
  }

 private:
  void start(const nlohmann::json& event) {
    events_.device = text_in(event, "device");
    if (events_.memory_plan.empty()) events_.memory_plan = text_in(event, "memory");
  }

  // Of those that name the same band and bottleneck the last stays.
  void verdict(const nlohmann::json& event, double at) {
    std::string means = text_in(event, "verdict") + ": " + text_in(event, "bottleneck");
    const bool again = events_.more_verdicts == 0 && means == meaning_;
    meaning_ = std::move(means);
    if (again) {
      SaidLine& said = events_.verdicts.back();
      said.last = at;
      ++said.times;
      said.text = text_in(event, "said");
    } else if (events_.verdicts.size() < most_said) {
      events_.verdicts.push_back({.first = at, .last = at, .text = text_in(event, "said")});
    } else {
      ++events_.more_verdicts;
    }
  }

  void warning(std::string text, double at) {
    const auto known = std::ranges::find(events_.warnings, text, &SaidLine::text);
    if (known != events_.warnings.end()) {
      ++known->times;
      known->last = at;
    } else if (events_.warnings.size() < most_said) {
      events_.warnings.push_back({.first = at, .last = at, .text = std::move(text)});
    } else {
      ++events_.more_warnings;
    }
  }

  RunEvents events_;
  std::string meaning_;
};

}  // namespace

RunEvents read_events(const std::filesystem::path& file) {
  EventReader reader;
  const LineCount count =
      for_each_object(file, [&reader](const nlohmann::json& event) { reader.take(event); });
  return reader.events(count);
}

}  // namespace headrace::inline v1::app
