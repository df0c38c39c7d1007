#include <headrace/apps/train/goals.h>
#include <headrace/monitor/format.h>

#include <cmath>
#include <functional>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

using Text = std::function<std::string(double)>;

std::string bytes_text(double bytes) {
  return monitor::format_bytes(static_cast<std::uint64_t>(bytes));
}

// Two places where they say something: 5.02 % is not 5 %.
std::string share_text(double share) {
  std::string text = fmt::format("{:.2f}", share * 100.0);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + " %";
}

std::string count_text(double count) {
  return fmt::format("{:.0f}", count);
}

std::string four_decimals(double figure) {
  return fmt::format("{:.4f}", figure);
}

struct Question {
  std::string goal{};
  bool most = true;
  double wanted = 0.0;
  std::string verb = "came";
  Text text = share_text;
};

GoalOutcome judge(const Question& question, std::optional<double> came, const std::string& why) {
  GoalOutcome outcome{.goal = question.goal, .most = question.most, .wanted = question.wanted};
  outcome.wanted_text = (question.most ? "at most " : "at least ") + question.text(question.wanted);
  if (came && !std::isfinite(*came)) {
    outcome.why = "it is not a number";
    return outcome;
  }
  if (!came) {
    outcome.why = why;
    return outcome;
  }
  const bool reached = question.most ? *came <= question.wanted : *came >= question.wanted;
  outcome.came = came;
  outcome.came_text = question.verb + ' ' + question.text(*came);
  if (!reached && question.text(*came) == question.text(question.wanted))
    outcome.came_text += question.most ? ", a little more" : ", a little less";
  outcome.state = reached ? GoalState::pass : GoalState::fail;
  return outcome;
}

template <class Number>
std::optional<double> as_double(const std::optional<Number>& number) {
  return number ? std::optional(static_cast<double>(*number)) : std::nullopt;
}

// What is known of the process alone is not of a run that it did not train.
std::string unless_idle(const GoalFacts& facts, const char* why) {
  return facts.trained ? why : "no epoch was trained by this process";
}

void judge_memory(std::vector<GoalOutcome>& outcomes, const Goals& goals, const GoalFacts& facts) {
  if (goals.ram)
    outcomes.push_back(judge({.goal = "ram",
                              .wanted = static_cast<double>(goals.ram->value),
                              .verb = "held",
                              .text = bytes_text},
                             as_double(facts.ram), unless_idle(facts, "it was not measured")));
  if (goals.gpu_memory)
    outcomes.push_back(judge({.goal = "gpu_memory",
                              .wanted = static_cast<double>(goals.gpu_memory->value),
                              .verb = "reserved",
                              .text = bytes_text},
                             as_double(facts.gpu_memory), unless_idle(facts, "no GPU was used")));
}

void judge_machine(std::vector<GoalOutcome>& outcomes, const Goals& goals, const GoalFacts& facts) {
  if (goals.gpu_busy)
    outcomes.push_back(judge({.goal = "gpu_busy", .most = false, .wanted = *goals.gpu_busy},
                             facts.gpu_busy,
                             unless_idle(facts, facts.gpu_memory ? "no sample of the training told"
                                                                 : "no GPU was used")));
  if (goals.data_wait)
    outcomes.push_back(judge({.goal = "data_wait", .wanted = *goals.data_wait}, facts.data_wait,
                             "no epoch was trained by this process"));
  if (goals.cpu_spikes)
    outcomes.push_back(judge({.goal = "cpu_spikes",
                              .wanted = static_cast<double>(*goals.cpu_spikes),
                              .text = count_text},
                             as_double(facts.cpu_spikes),
                             unless_idle(facts, "the CPUs were not watched")));
  if (goals.time)
    outcomes.push_back(judge({.goal = "time",
                              .wanted = goals.time->seconds,
                              .verb = "took",
                              .text = monitor::format_seconds},
                             facts.seconds, unless_idle(facts, "it was not timed")));
}

std::string names_of(const std::map<std::string, double>& figures) {
  std::string names;
  for (const auto& [name, value] : figures)
    names += (names.empty() ? "" : ", ") + name;
  return names.empty() ? "none" : names;
}

void judge_figures(std::vector<GoalOutcome>& outcomes, const Goals& goals, const GoalFacts& facts) {
  for (const FigureGoal& goal : figure_goals(goals)) {
    const auto found = facts.figures.find(goal.name);
    const std::optional<double> came =
        found == facts.figures.end() ? std::nullopt : std::optional(found->second);
    GoalOutcome outcome =
        judge({.goal = goal.name, .most = goal.most, .wanted = goal.value, .text = four_decimals},
              came, fmt::format("there is no such figure, there are: {}", names_of(facts.figures)));
    if (outcome.came) outcome.came_text += fmt::format(" ({})", facts.figures_of);
    outcomes.push_back(std::move(outcome));
  }
}

}  // namespace

std::vector<GoalOutcome> judge_goals(const Goals& goals, const GoalFacts& facts) {
  std::vector<GoalOutcome> outcomes;
  judge_memory(outcomes, goals, facts);
  judge_machine(outcomes, goals, facts);
  judge_figures(outcomes, goals, facts);
  return outcomes;
}

std::string goal_sentence(const GoalOutcome& goal) {
  const std::string wanted = fmt::format("goal {}: {}, ", goal.goal, goal.wanted_text);
  if (goal.state == GoalState::not_judged) return wanted + "not judged: " + goal.why;
  return wanted + goal.came_text + (goal.state == GoalState::pass ? ": pass" : ": FAIL");
}

std::string goals_text(const std::vector<GoalOutcome>& goals) {
  std::string text;
  for (const GoalOutcome& goal : goals)
    text += goal_sentence(goal) + '\n';
  return text;
}

std::string missed_goals(const std::vector<GoalOutcome>& goals) {
  std::string names;
  for (const GoalOutcome& one : goals)
    if (one.state == GoalState::fail) names += (names.empty() ? "" : ", ") + one.goal;
  return names;
}

}  // namespace headrace::inline v1::app
