#include <headrace/apps/terminal/progress.h>
#include <headrace/apps/terminal/text_width.h>
#include <headrace/apps/watch/run_glance.h>
#include <headrace/monitor/format.h>
#include <headrace/monitor/system/status_line.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

using monitor::format_seconds;
using monitor::format_share;
using Figures = std::vector<std::pair<std::string, std::string>>;

// A run writes each five seconds, but for long steps and long evaluations.
constexpr double silent_s = 60.0;
constexpr std::size_t most_lines = 20;

// "name value" of as many as fit behind the head.
std::string line_of(const std::string& head, const Figures& figures, std::size_t columns) {
  std::string line = head;
  for (const auto& [name, value] : figures) {
    const std::string figure = fmt::format("{}{} {}", line == head ? " " : " · ", name, value);
    if (text_width(line) + text_width(figure) > columns) break;
    line += figure;
  }
  return line == head ? std::string() : line;
}

// As many of the parts as fit, in any case the first.
std::string joined(std::initializer_list<std::string> parts,
                   std::size_t columns = std::string::npos) {
  std::string text;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    const std::string more = (text.empty() ? "" : " · ") + part;
    if (!text.empty() && text_width(text) + text_width(more) > columns) break;
    text += more;
  }
  return text;
}

// Of the stage, by the epochs so far.
std::string stage_left(const RunGlance& glance) {
  if (!glance.progress || glance.epoch_s <= 0.0 || glance.end != RunEnd::running) return {};
  const double epochs = static_cast<double>(glance.progress->epochs - glance.progress->epoch) + 1.0;
  const double left = (epochs - glance.progress->share) * glance.epoch_s;
  return "stage done in about " + format_seconds(std::max(0.0, left));
}

std::string place_line(const RunGlance& glance, std::size_t columns) {
  if (!glance.progress) return "no step was told of yet";
  const ProgressLine& progress = *glance.progress;
  return joined({fmt::format("{}{}epoch {}/{} {} {}", progress.head,
                             progress.head.empty() ? "" : " ", progress.epoch, progress.epochs,
                             progress_bar(progress.share), format_share(progress.share)),
                 glance.end == RunEnd::running ? progress.left : "", stage_left(glance)},
                columns);
}

// The pace first.
std::string steps_line(const RunGlance& glance, std::size_t columns) {
  Figures figures = glance.step_figures;
  const auto pace = std::ranges::find(figures, "samples_per_s", &Figures::value_type::first);
  if (pace == figures.end())
    return glance.progress ? joined({glance.progress->pace, glance.progress->figures}) : "";
  const std::string head =
      monitor::format_rate(std::strtod(pace->second.c_str(), nullptr)) + " samples/s ·";
  figures.erase(pace);
  return line_of(head, figures, columns);
}

std::string epoch_head(const RunGlance& glance) {
  return fmt::format("epoch {}{}:", glance.epochs_done,
                     glance.best_epoch > 0 ? fmt::format(" (best {})", glance.best_epoch) : "");
}

std::string bad_line(const RunGlance& glance) {
  std::string text;
  if (glance.bad_samples > 0) text = fmt::format("bad samples {}", glance.bad_samples);
  if (glance.bad_steps > 0)
    text +=
        fmt::format("{}steps that were not finite {}", text.empty() ? "" : " · ", glance.bad_steps);
  return text;
}

std::string machine_line(const RunGlance& glance, std::size_t columns = std::string::npos) {
  return glance.machine ? monitor::status_line(*glance.machine, columns) : std::string();
}

// What the run has of it.
std::string own_line(const RunGlance& glance) {
  if (!glance.machine || glance.machine->tree.processes == 0) return {};
  return fmt::format("run: {:.1f} of {} cores, {}", glance.machine->tree.cores,
                     glance.machine->cores, monitor::format_bytes(glance.machine->memory.held()));
}

std::string busiest_line(const RunGlance& glance, std::size_t columns) {
  std::string text;
  for (const monitor::ProcessUsage& process : glance.busiest) {
    const std::string one =
        fmt::format("{}{} {:.1f}{}", text.empty() ? "busiest, cores: " : ", ", process.name,
                    process.cores, process.ours ? "" : " (not of the run)");
    if (!text.empty() && text_width(text) + text_width(one) > columns) break;
    text += one;
  }
  return text;
}

// A long line over several; the last of them has the rest.
void add_folded(const std::string& text, std::size_t columns, std::size_t most,
                std::vector<std::string>& lines) {
  std::vector<std::string> all = folded(text, columns);
  for (std::size_t i = most; i < all.size(); ++i)
    all[most - 1] += all[i].substr(1);
  all.resize(std::min(all.size(), most));
  if (!text.empty()) lines.insert(lines.end(), all.begin(), all.end());
}

}  // namespace

std::string state_text(const RunGlance& glance) {
  const std::string silent = glance.silent_s < 0.0 ? "" : format_seconds(glance.silent_s);
  const std::string since =
      silent.empty() ? "it has written nothing" : "last wrote " + silent + " ago";
  switch (glance.end) {
    case RunEnd::running:
      if (glance.silent_s >= silent_s)
        return fmt::format(
            "running, but has not written for {}: a long step or evaluation, or hung; "
            "kill -USR2 {} asks it",
            silent, glance.process->pid);
      return glance.silent_s < 0.0 ? "running, has written no row yet"
                                   : fmt::format("running, last row {} ago", silent);
    case RunEnd::elsewhere:
      return fmt::format("of {}: whether it runs cannot be told from here; {}",
                         glance.process->host, since);
    case RunEnd::finished:
      return "ended: done; " + since;
    case RunEnd::stopped:
      return "ended: stopped and saved; " + since;
    case RunEnd::failed:
      return "ended: failed; " + since;
    case RunEnd::killed:
      return "ended: killed, without a word; " + since;
    case RunEnd::unknown:
      break;
  }
  return "whether it runs its folder does not say; " + since;
}

std::vector<std::string> glance_lines(const RunGlance& glance, std::size_t columns) {
  std::vector<std::string> lines;
  const auto add = [&lines](const std::string& line) {
    if (!line.empty()) lines.push_back(line);
  };
  const std::string pid =
      glance.process && glance.end == RunEnd::running
          ? fmt::format("process {}, {}", glance.process->pid, format_seconds(glance.running_s))
          : "";
  add(joined({glance.name, glance.kind, pid}, columns));
  add_folded(state_text(glance), columns, 2, lines);
  if (glance.end == RunEnd::failed || glance.end == RunEnd::stopped)
    add_folded(glance.last_word, columns, 4, lines);
  add(place_line(glance, columns));
  add(steps_line(glance, columns));
  add(glance.step_budget);
  if (glance.epochs_done > 0) add(line_of(epoch_head(glance), glance.epoch_figures, columns));
  add(machine_line(glance, columns));
  add(own_line(glance));
  add(busiest_line(glance, columns));
  if (!glance.verdict.empty()) add_folded(glance.verdict, columns, 2, lines);
  if (!glance.advice.empty()) add_folded("advice: " + glance.advice, columns, 3, lines);
  add(bad_line(glance));
  if (lines.size() > most_lines) lines.resize(most_lines);
  return lines;
}

std::string glance_line(const RunGlance& glance) {
  std::string place;
  if (glance.progress)
    place = fmt::format("{}{}epoch {}/{} {}", glance.progress->head,
                        glance.progress->head.empty() ? "" : " ", glance.progress->epoch,
                        glance.progress->epochs, format_share(glance.progress->share));
  const ProgressLine none;
  const ProgressLine& progress = glance.progress ? *glance.progress : none;
  return joined({place, progress.pace, progress.figures, glance.step_budget, machine_line(glance),
                 own_line(glance), bad_line(glance), state_text(glance)});
}

}  // namespace headrace::inline v1::app
