#include <headrace/apps/terminal/progress.h>
#include <headrace/apps/terminal/text_width.h>
#include <headrace/apps/view/epoch_table.h>
#include <headrace/apps/view/live_text.h>
#include <headrace/monitor/format.h>

#include <fmt/format.h>

namespace headrace::inline v1::app {

using monitor::format_seconds;

std::string loss_text(std::optional<double> loss, const Figures& terms) {
  if (!loss) return {};
  const std::string parts = loss_terms_text(terms);
  return fmt::format("loss {:.4f}", *loss) + (parts.empty() ? "" : " (" + parts + ")");
}

std::string step_text(const StepFacts& step) {
  const monitor::StepTimes& times = step.times;
  const std::string loss = loss_text(step.loss, step.terms);
  return fmt::format("step {}: {} = data {} + copy {} + compute {} + other {}{}{}", step.step,
                     format_seconds(times.wall_s), format_seconds(times.data_wait_s),
                     format_seconds(times.copy_s), format_seconds(times.compute_s),
                     format_seconds(times.other_s()), loss.empty() ? "" : "; ", loss);
}

namespace {

using monitor::format_rate;
using monitor::format_share;

std::string figures_text(const LiveFacts& facts, const Figures& terms) {
  return loss_text(facts.loss, terms) + (facts.loss ? " " : "") +
         fmt::format("lr {:.2g}", facts.step.learning_rate);
}

}  // namespace

LiveText live_text(const LiveFacts& facts, std::size_t columns) {
  const auto all = static_cast<double>(facts.fold.samples_per_epoch);
  const auto seen = static_cast<double>(facts.step.epoch_samples);
  const std::string& member = facts.fold.member;
  const std::string head = fmt::format("{}{}epoch {}/{}", member, member.empty() ? "" : " ",
                                       facts.step.epoch + 1, facts.fold.epochs);
  const std::string pace =
      fmt::format("{} samples/s · epoch done in {}", format_rate(facts.samples_per_s),
                  format_seconds((all - seen) / facts.samples_per_s));
  std::string figures = figures_text(facts, facts.terms);
  if (text_width(pace + " · " + figures) > columns) figures = figures_text(facts, {});
  const double done = seen / all;
  LiveText text{.lines = {fmt::format("{} {} {}", head, progress_bar(done), format_share(done)),
                          fmt::format("{} · {}", pace, figures), facts.budget},
                .plain = fmt::format("{} {} · {} · {} · {}", head, format_share(done), pace,
                                     figures, facts.budget)};
  if (facts.machine.empty()) return text;
  text.lines.push_back(facts.machine);
  text.plain += " · " + facts.machine;
  return text;
}

}  // namespace headrace::inline v1::app
