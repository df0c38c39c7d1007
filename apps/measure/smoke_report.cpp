#include <headrace/apps/measure/smoke_report.h>
#include <headrace/apps/terminal/table.h>
#include <headrace/monitor/format.h>

#include <algorithm>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

using monitor::format_bytes;
using monitor::format_seconds;
using monitor::format_share;

std::string name_of(const TriedPart& part) {
  if (part.first == 0) return part.stage.name;
  return fmt::format("{} from epoch {}", part.stage.name, part.first + 1);
}

Table table_of(const SmokeTrial& trial) {
  Table table({{"member", Align::left},
               {"stage", Align::left},
               {"steps"},
               {"a step"},
               {"data wait"},
               {"evaluation"},
               {"checkpoint"},
               {"epochs x steps"},
               {"time"}});
  for (const TriedPart& part : trial.parts())
    table.row({part.stage.member, name_of(part), std::to_string(part.steps),
               format_seconds(part.step_s()), format_share(part.data_wait()),
               part.evaluation_s > 0.0 ? format_seconds(part.evaluation_s) : "none",
               format_seconds(part.save_s),
               fmt::format("{} x {}", part.epochs, part.stage.steps_per_epoch),
               format_seconds(part.full_s())});
  for (const TriedOnce& once : trial.once())
    table.row({once.member, once.what, "", "", "", "", "", "", format_seconds(once.seconds)});
  return table;
}

std::string sum_line(const SmokeTrial& trial) {
  const auto any = [&](const auto& is) { return std::ranges::any_of(trial.parts(), is); };
  std::string line = "the full run takes about " + format_seconds(full_seconds(trial));
  if (any([](const TriedPart& part) { return part.stage.may_stop_early; }))
    line += "; early stopping may end it sooner";
  if (any([](const TriedPart& part) { return !part.warm; }))
    line += "; this is rough, first steps are in it: --smoke 10 or more tells it better";
  return line + '\n';
}

}  // namespace

double full_seconds(const SmokeTrial& trial) {
  double sum = 0.0;
  for (const TriedPart& part : trial.parts())
    sum += part.full_s();
  for (const TriedOnce& once : trial.once())
    sum += once.seconds;
  return sum;
}

std::string smoke_text(const SmokeTrial& trial, const TriedMemory& memory,
                       const std::string& shrunk) {
  std::string text = table_of(trial).text();
  const auto stages = std::ranges::count(trial.parts(), 0, &TriedPart::first);
  text += fmt::format("stopped, saved and resumed in {} of {} stages\n", trial.resumes(), stages);
  if (!shrunk.empty())
    text += fmt::format("shapes by the section smoke, times and memory, too: {}\n", shrunk);
  text += sum_line(trial);
  text += fmt::format("memory {}, forecast {}, limit {} ({})\n", format_bytes(memory.peak),
                      format_bytes(memory.forecast), format_bytes(memory.limit.bytes),
                      memory.limit.source);
  return text;
}

}  // namespace headrace::inline v1::app
