#include <headrace/apps/report/run_record.h>
#include <headrace/apps/report/text_lines.h>
#include <headrace/apps/run/file_end.h>
#include <headrace/apps/terminal/utc.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/engine/base/internal/folder_lock.h>
#include <headrace/engine/base/internal/json_fields.h>

#include <algorithm>
#include <array>
#include <ranges>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

constexpr std::array files_of_a_run{"config.yaml", "metrics.csv", "metrics.jsonl", "system.jsonl",
                                    "log.txt",     "env.json",    "result.json",   "command.txt"};
// Of several, one is not enough: anybody's folder may have a log.txt.
constexpr int least_files = 2;

void require_run(const fs::path& folder) {
  const auto there = std::count_if(files_of_a_run.begin(), files_of_a_run.end(), [&](auto name) {
    std::error_code error;
    return fs::is_regular_file(folder / name, error);
  });
  if (there >= least_files) return;
  throw ConfigError(
      fmt::format("[report] {}: must be the folder of a run, got {}; name a folder that headrace "
                  "train has made",
                  folder.string(),
                  there == 0 ? "one without any of its files" : "one with a single file of it"));
}

// The text of a file; empty, with a remark, where it cannot be read.
std::string text_of(RunRecord& run, const char* name) {
  try {
    return read_whole_text(run.folder / name, "report");
  } catch (const std::exception& error) {
    run.remarks.push_back(fmt::format("{}: {}", name, error.what()));
    return {};
  }
}

// An object; anything else is empty, with a remark.
nlohmann::ordered_json object_of(RunRecord& run, const char* name) {
  const std::string text = text_of(run, name);
  if (text.empty()) return nlohmann::ordered_json::object();
  if (nests_deeply(text)) {
    run.remarks.push_back(fmt::format("{}: nests too deeply and is left out", name));
    return nlohmann::ordered_json::object();
  }
  auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (json.is_object()) return json;
  run.remarks.push_back(fmt::format("{}: holds no JSON object and is left out", name));
  return nlohmann::ordered_json::object();
}

void flatten(const nlohmann::ordered_json& json, const std::string& path,
             std::vector<Fact>& facts) {
  if (json.is_object()) {
    for (const auto& [name, value] : json.items())
      flatten(value, path.empty() ? name : path + '.' + name, facts);
  } else if (json.is_string()) {
    facts.emplace_back(path, json.get<std::string>());
  } else if (!json.is_null()) {
    facts.emplace_back(path, json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
}

void read_config(RunRecord& run) {
  run.config_text = text_of(run, "config.yaml");
  if (run.config_text.empty()) return;
  try {
    run.config = parse_document(run.config_text, "config.yaml");
  } catch (const std::exception& error) {
    run.remarks.emplace_back(error.what());
    return;
  }
  if (const Entry* kind = run.config.find("kind")) run.kind = kind->value.text;
}

void read_commands(RunRecord& run) {
  constexpr std::size_t most_commands = 100;
  for_each_line(run.folder / "command.txt", [&run](const std::string& line) {
    if (!line.empty() && run.commands.size() < most_commands) run.commands.push_back(line);
  });
}

// A row that was not written to its end is none.
void read_metrics(RunRecord& run) {
  std::string text = text_of(run, "metrics.csv");
  if (!text.empty() && text.back() != '\n') {
    text.erase(text.find_last_of('\n') + 1);
    run.remarks.emplace_back("metrics.csv: its last row is torn and is left out");
  }
  run.epochs = EpochLog(read_csv(text));
}

std::map<std::string, double> figures_of(const nlohmann::ordered_json& member, const char* part) {
  std::map<std::string, double> figures;
  const auto found = member.find(part);
  if (found == member.end() || !found->is_object()) return figures;
  for (const auto& [name, value] : found->items())
    if (value.is_number() || value == "inf" || value == "-inf") figures[name] = json_number(value);
  return figures;
}

// Its own but for what came of it, which stands apart, else one of the bare numbers.
std::string sentence_of(const nlohmann::json& goal) {
  if (const std::string said = text_in(goal, "sentence"); !said.empty())
    return said.substr(
        0, said.size() - (said.ends_with(": pass") || said.ends_with(": FAIL") ? 6 : 0));
  std::string text = fmt::format("goal {}: ", text_in(goal, "goal"));
  if (goal.contains("at_most")) text += "at most " + text_in(goal, "at_most");
  if (goal.contains("at_least")) text += "at least " + text_in(goal, "at_least");
  if (goal.contains("came")) text += ", came " + text_in(goal, "came");
  if (goal.contains("why")) text += ", not judged: " + text_in(goal, "why");
  return text;
}

void read_goals(RunRecord& run, const nlohmann::ordered_json& result) {
  const auto found = result.find("goals");
  if (found == result.end() || !found->is_array()) return;
  for (const nlohmann::json goal : *found) {
    if (!goal.is_object()) continue;
    GoalResult& said = run.goals.emplace_back();
    said.sentence = sentence_of(goal);
    const std::string came = text_in(goal, "result");
    if (came == "pass" || came == "fail") said.passed = came == "pass";
  }
}

void read_result(RunRecord& run) {
  const nlohmann::ordered_json result = object_of(run, "result.json");
  const auto members = result.find("members");
  if (members != result.end() && members->is_array()) {
    for (const nlohmann::ordered_json& member : *members) {
      if (!member.is_object()) continue;
      const nlohmann::json plain = member;
      MemberResult& one = run.results.emplace_back();
      one.member = text_in(plain, "member");
      one.selected_by = text_in(plain, "selected_by");
      one.refused = text_in(plain, "refused");
      if (!one.refused.empty()) continue;
      one.best_epoch = static_cast<std::int64_t>(number_in(plain, "best_epoch", -1.0));
      one.validation = figures_of(member, "validation");
      one.test = figures_of(member, "test");
    }
  }
  read_goals(run, result);
}

void decide_end(RunRecord& run) {
  run.end_words = run.events.ending.words;
  std::optional<RunEnd> said = run.events.ending.end;
  // Its last word was lost; of a run that went on the result may be that of the process before.
  if (!said && !run.results.empty() && !run.events.resumed) said = RunEnd::finished;
  run.end = run_end(run.folder, said);
  const bool unseen = run.end == RunEnd::elsewhere || run.end == RunEnd::unknown;
  if (unseen && FolderLock(run.folder).refused()) run.end = RunEnd::running;
}

// One that was killed has said its last word long before its last sample.
std::optional<double> last_sign(const RunRecord& run) {
  for (const std::string& line : last_lines(run.folder / "system.jsonl") | std::views::reverse) {
    if (nests_deeply(line)) continue;
    const nlohmann::json sample = nlohmann::json::parse(line, nullptr, false);
    if (const auto at = parse_utc(text_in(sample, "time"))) return std::max(run.events.last, at);
  }
  return run.events.last;
}

}  // namespace

std::optional<double> RunRecord::began() const {
  if (events.first) return events.first;
  return parse_utc(environment_of("written"));
}

std::string RunRecord::environment_of(const std::string& key) const {
  for (const auto& [known, value] : environment)
    if (known == key) return value;
  return {};
}

RunRecord read_run(const fs::path& folder) {
  require_run(folder);
  RunRecord run{.folder = folder};
  std::error_code error;
  run.name = fs::weakly_canonical(folder, error).filename().string();
  if (run.name.empty()) run.name = folder.string();
  read_config(run);
  read_commands(run);
  flatten(object_of(run, "env.json"), "", run.environment);
  run.events = read_events(folder / "events.jsonl");
  run.ended = last_sign(run);
  read_metrics(run);
  read_result(run);
  decide_end(run);
  return run;
}

}  // namespace headrace::inline v1::app
