#include <headrace/apps/train/epoch_table.h>
#include <headrace/apps/train/step_text.h>
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

}  // namespace headrace::inline v1::app
