#include <headrace/apps/report/log_facts.h>
#include <headrace/apps/terminal/utc.h>

#include <algorithm>

namespace headrace::inline v1::app {
namespace {

constexpr std::size_t most_lines = 200;
constexpr std::string_view begins = "run folder ";  // another process, which goes on

bool is_verdict(std::string_view text) {
  return text.find("input-bound (data stall ") < 12 || text.starts_with("cannot tell: ") ||
         text.starts_with("no consumer behind it: ");
}

// As monitor::Advice::line() ends.
bool is_advice(std::string_view text) {
  return text.find(" · check: ") != std::string_view::npos;
}

// "highly input-bound", and what holds it back: verdicts that agree in it say the same.
std::string meaning(std::string_view verdict) {
  std::string text(verdict.substr(0, verdict.find(" (")));
  if (const std::size_t colon = verdict.find("): "); colon != std::string_view::npos)
    text += verdict.substr(colon, verdict.find(';', colon) - colon);
  return text;
}

// "fold 0 epoch 3/8 88 % · 589 samples/s · ...": the run goes on.
bool is_progress(std::string_view text) {
  const std::size_t end = text.find(" · ");
  const std::string_view head = text.substr(0, end);
  return end != std::string_view::npos && head.ends_with(" %") &&
         head.find("epoch ") != std::string_view::npos && head.find('/') != std::string_view::npos;
}

class LogReader {
 public:
  void take(const std::string& line) {
    const LogEntry entry = log_entry(line);
    if (entry.at) {
      if (!facts_.first) facts_.first = entry.at;
      facts_.last = entry.at;
    }
    const double at = facts_.last.value_or(0.0);
    if (entry.text.starts_with("goal ")) facts_.goals.emplace_back(entry.text);
    if (!entry.at) return;
    facts_.ending.take(entry);
    if (is_advice(entry.text))
      advice(entry.text, at);
    else if (entry.level == "warning" || entry.level == "warn")
      warning(entry.text, at);
    if (is_verdict(entry.text)) verdict(entry.text, at);
    note(entry.text);
  }

  LogFacts facts(LineCount count) {
    facts_.count = count;
    return std::move(facts_);
  }

 private:
  void note(std::string_view text) {
    if (text.starts_with(begins)) {
      ++facts_.starts;
      facts_.goals.clear();
    }
    if (text.starts_with("device ")) facts_.device = text.substr(7);
    if (text.starts_with("memory ") && !text.starts_with("memory of ") &&
        facts_.memory_plan.empty())
      facts_.memory_plan = text;
  }

  void advice(std::string_view text, double at) {
    if (facts_.advice.size() < most_lines)
      facts_.advice.push_back({.first = at, .last = at, .text = std::string(text)});
  }

  void warning(std::string_view text, double at) {
    const auto known = std::find_if(facts_.warnings.begin(), facts_.warnings.end(),
                                    [&](const LogLine& said) { return said.text == text; });
    if (known != facts_.warnings.end()) {
      ++known->times;
      known->last = at;
    } else if (facts_.warnings.size() < most_lines) {
      facts_.warnings.push_back({.first = at, .last = at, .text = std::string(text)});
    } else {
      ++facts_.more_warnings;
    }
  }

  // Of those that say the same the last stays.
  void verdict(std::string_view text, double at) {
    std::string means = meaning(text);
    if (!facts_.verdicts.empty() && means == meaning_) {
      LogLine& said = facts_.verdicts.back();
      said.last = at;
      ++said.times;
      said.text = text;
    } else if (facts_.verdicts.size() < most_lines) {
      facts_.verdicts.push_back({.first = at, .last = at, .text = std::string(text)});
      meaning_ = std::move(means);
    } else {
      ++facts_.more_verdicts;
    }
  }

  LogFacts facts_;
  std::string meaning_;
};

}  // namespace

LogEntry log_entry(std::string_view line) {
  const std::size_t time_end = line.find(' ');
  const auto at = parse_utc(line.substr(0, time_end));
  if (!at) return {.text = line};
  line.remove_prefix(std::min(line.size(), time_end + 1));
  const std::size_t level_end = std::min(line.find(' '), line.size());
  return {.at = at,
          .level = line.substr(0, level_end),
          .text = line.substr(std::min(line.size(), level_end + 1))};
}

void LogEnding::take(const LogEntry& entry) {
  if (!entry.at) return;
  if (entry.level == "error")
    end_with(LogEnd::failed, entry.text);
  else if (entry.text.starts_with(begins) || is_progress(entry.text))
    end_with(LogEnd::open, {});
  else if (entry.text.starts_with("stopped and saved"))
    end_with(LogEnd::stopped, entry.text);
  else if (entry.text.starts_with("figures and curves: "))
    end_with(LogEnd::done, entry.text);
}

void LogEnding::end_with(LogEnd end, std::string_view words) {
  end_ = end;
  words_ = words;
}

LogFacts read_log(const std::filesystem::path& file) {
  LogReader reader;
  const LineCount count =
      for_each_line(file, [&reader](const std::string& line) { reader.take(line); });
  return reader.facts(count);
}

}  // namespace headrace::inline v1::app
