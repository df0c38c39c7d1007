#include <headrace/apps/job/goal_settings.h>
#include <headrace/engine/base/error.h>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

[[noreturn]] void refuse(const Entry& entry) {
  throw ConfigError(fmt::format(
      "[config] {}: goals.figures.{} must be the least value of that figure, or {{most: number}} "
      "where it gets better downwards, got {}",
      entry.place.text(), entry.key, describe(entry.value)));
}

double number_of(const Entry& figure, const Node& value) {
  double number = 0.0;
  if (!detail::read_scalar(value, number).ok) refuse(figure);
  return number;
}

FigureGoal goal_of(const Entry& figure) {
  const Node& value = figure.value;
  if (value.kind != Node::Kind::map) return {.name = figure.key, .value = number_of(figure, value)};
  if (value.entries.size() != 1) refuse(figure);
  const Entry& bound = value.entries.front();
  if (bound.key != "least" && bound.key != "most") refuse(figure);
  return {.name = figure.key, .value = number_of(figure, bound.value), .most = bound.key == "most"};
}

}  // namespace

void describe(Fields& fields, Goals& goals) {
  fields.key("ram", goals.ram, {.doc = "most that the process holds"});
  fields.key("gpu_memory", goals.gpu_memory, {.doc = "most that is reserved of the GPU's memory"});
  fields.key("gpu_busy", goals.gpu_busy,
             {.doc = "least share of the run's time in which the GPU works, 0.8 say",
              .min = 0.0,
              .max = 1.0});
  fields.key("data_wait", goals.data_wait,
             {.doc = "most of the steps' time that waits for data, a share, after warm-up",
              .min = 0.0,
              .max = 1.0});
  fields.key("cpu_spikes", goals.cpu_spikes,
             {.doc = "most times in the run that the machine's CPUs go over 90 %, all together",
              .min = 0.0});
  fields.key("time", goals.time,
             {.doc = "most time that the run takes, 2h say; of one that goes on, since then"});
  fields.key("accuracy", goals.accuracy,
             {.doc = "least accuracy of the results: of the vote where members vote, else the "
                     "members' mean; of the test, else of the validation"});
  fields.map("figures", goals.figures,
             {.doc = "the same of other figures by their names in result.json: {f1: 0.8}, or where "
                     "less is better {mae: {most: 0.05}}"});
}

std::vector<FigureGoal> figure_goals(const Goals& goals) {
  std::vector<FigureGoal> figures;
  if (goals.accuracy) figures.push_back({.name = "accuracy", .value = *goals.accuracy});
  for (const Entry& figure : goals.figures.entries)
    figures.push_back(goal_of(figure));
  return figures;
}

}  // namespace headrace::inline v1::app
