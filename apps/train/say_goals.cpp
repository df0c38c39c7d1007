#include <headrace/apps/train/goal_report.h>
#include <headrace/apps/train/run_view.h>
#include <headrace/apps/train/say_goals.h>

#include <cstdio>

#include <fmt/format.h>

namespace headrace::inline v1::app {

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
