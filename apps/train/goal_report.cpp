#include <headrace/apps/backend/training_backend.h>
#include <headrace/apps/config/exit_codes.h>
#include <headrace/apps/figures/figure_spread.h>
#include <headrace/apps/train/goal_report.h>
#include <headrace/apps/view/run_view.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>

#include <fstream>
#include <map>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {
namespace {

const char* word_of(GoalState state) {
  switch (state) {
    case GoalState::pass:
      return "pass";
    case GoalState::fail:
      return "fail";
    case GoalState::not_judged:
      break;
  }
  return "not judged";
}

nlohmann::ordered_json json_of(const GoalOutcome& goal) {
  nlohmann::ordered_json json{{"goal", goal.goal},
                              {goal.most ? "at_most" : "at_least", goal.wanted}};
  if (goal.came) json["came"] = *goal.came;
  json["result"] = word_of(goal.state);
  if (goal.state == GoalState::not_judged) json["why"] = goal.why;
  json["sentence"] = goal_sentence(goal);
  return json;
}

nlohmann::ordered_json read_result(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return nlohmann::ordered_json::parse(stream, nullptr, false);
}

std::map<std::string, double> what_came(const nlohmann::ordered_json& result) {
  std::map<std::string, double> came;
  if (!result.is_object() || !result.contains("goals")) return came;
  for (const nlohmann::ordered_json& goal : result["goals"]) {
    if (!goal.is_object() || !goal.contains("goal") || !goal.contains("came")) continue;
    if (goal["goal"].is_string() && goal["came"].is_number())
      came[goal["goal"].get<std::string>()] = goal["came"].get<double>();
  }
  return came;
}

template <class Number>
void take(std::optional<Number>& fact, const std::map<std::string, double>& came,
          const char* goal) {
  if (const auto found = came.find(goal); found != came.end())
    fact = static_cast<Number>(found->second);
}

}  // namespace

GoalFacts goal_facts(const TrainingRun& run, const RunView& view, monitor::MemoryWatch& memory,
                     std::chrono::steady_clock::time_point began) {
  memory.look();
  const SystemTotals system = view.system();
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began;
  GoalFacts facts{.ram = memory.peak_held(),
                  .gpu_memory = run.most_reserved(),
                  .data_wait = view.data_wait_share(),
                  .cpu_spikes = system.cpu_spikes,
                  .seconds = passed.count()};
  if (facts.gpu_memory) facts.gpu_busy = system.gpu_busy;
  return facts;
}

GoalFacts earlier_goal_facts(const std::filesystem::path& folder) {
  const auto came = what_came(read_result(folder / "result.json"));
  GoalFacts facts{.trained = false};
  take(facts.ram, came, "ram");
  take(facts.gpu_memory, came, "gpu_memory");
  take(facts.gpu_busy, came, "gpu_busy");
  take(facts.data_wait, came, "data_wait");
  take(facts.cpu_spikes, came, "cpu_spikes");
  take(facts.seconds, came, "time");
  return facts;
}

void add_figures(GoalFacts& facts, const std::vector<FoldOutcome>& all,
                 const std::vector<FoldOutcome>& votes) {
  const std::vector<FoldOutcome> outcomes = believed(all);
  facts.figures.clear();
  if (outcomes.empty()) return;
  if (!votes.empty()) {
    facts.figures = votes.front().test;
    facts.figures_of = "test, vote";
    return;
  }
  const bool tested = !outcomes.front().test.empty();
  facts.figures_of = tested ? "test" : "validation";
  if (outcomes.size() > 1) facts.figures_of += fmt::format(", mean of {}", outcomes.size());
  if (outcomes.size() == 1) {
    facts.figures = tested ? outcomes.front().test : outcomes.front().validation;
    return;
  }
  const auto part = tested ? &FoldOutcome::test : &FoldOutcome::validation;
  for (const auto& [name, spread] : spread_of(outcomes, part))
    facts.figures[name] = spread.mean;
}

void write_goals(const std::filesystem::path& folder, const std::vector<GoalOutcome>& goals) {
  if (goals.empty()) return;
  const std::filesystem::path file = folder / "result.json";
  nlohmann::ordered_json json = read_result(file);
  if (!json.is_object())
    throw DataError(fmt::format(
        "[goals] {} must be what the run wrote, got something else; keep others from writing it",
        file.string()));
  json["goals"] = nlohmann::ordered_json::array();
  for (const GoalOutcome& goal : goals)
    json["goals"].push_back(json_of(goal));
  write_file_atomically(file, json.dump(2) + "\n");
}

bool say_refused(const std::vector<FoldOutcome>& outcomes, RunView& view) {
  std::string all;
  for (const FoldOutcome& one : outcomes)
    if (one.refused)
      all += fmt::format("{}{} is refused, {}", all.empty() ? "" : "; ",
                         one.member.empty() ? "the run" : one.member, *one.refused);
  if (all.empty()) return false;
  view.tell(fmt::format("the run ends with exit code {}: {}", to_string(ExitCode::numeric), all));
  view.event("end", {{"how", "failed"}, {"said", all}});
  return true;
}

std::string say_goals(const std::vector<GoalOutcome>& goals, const std::filesystem::path& folder,
                      RunView& view) {
  if (goals.empty()) return {};
  write_goals(folder, goals);
  const std::string text = goals_text(goals);
  view.note(text.substr(0, text.size() - 1));
  fmt::print("{}", text);
  return missed_goals(goals);
}

}  // namespace headrace::inline v1::app
