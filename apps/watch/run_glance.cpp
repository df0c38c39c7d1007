#include <headrace/apps/config/document.h>
#include <headrace/apps/report/text_lines.h>
#include <headrace/apps/run/csv_table.h>
#include <headrace/apps/run/file_end.h>
#include <headrace/apps/terminal/utc.h>
#include <headrace/apps/watch/run_glance.h>
#include <headrace/engine/base/error.h>
#include <headrace/monitor/system/system_json.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <ranges>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

std::int64_t number(std::string_view text) {
  std::int64_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// A part of a line up to the next " · ", which is taken off with it.
std::string_view next_part(std::string_view& rest) {
  constexpr std::string_view between = " · ";
  const auto end = rest.find(between);
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + between.size());
  return part;
}

// The text of "2026-11-28T00:00:35.550Z info text"; one of several lines has time and level in its
// first alone.
std::string_view said_in(std::string_view line) {
  const std::size_t time_end = line.find(' ');
  if (!parse_utc(line.substr(0, time_end))) return line;
  const std::size_t level_end = line.find(' ', time_end + 1);
  return level_end == std::string_view::npos ? std::string_view() : line.substr(level_end + 1);
}

void read_log(const fs::path& file, RunGlance& glance) {
  for (const std::string& line : last_lines(file, std::size_t{256} << 10)) {
    const std::string_view said = said_in(line);
    if (std::optional<ProgressLine> progress = parse_progress(said)) {
      if (!progress->step.empty()) glance.step_budget = progress->step;
      glance.progress = std::move(progress);
    }
    if (said.starts_with("step ") && said.find(" = data ") != std::string_view::npos)
      glance.step_budget = said.substr(0, said.find(" ("));
  }
}

// How the run says that it ended. A run that wrote no events has ended with its result.
std::optional<RunEnd> read_events(const fs::path& run, RunGlance& glance) {
  SaidEnd said;
  const std::vector<std::string> lines = last_lines(run / "events.jsonl");
  for (const std::string& line : lines) {
    if (nests_deeply(line)) continue;
    const nlohmann::json event = nlohmann::json::parse(line, nullptr, false);
    if (!event.is_object()) continue;
    said.take(event);
    if (text_in(event, "event") == "verdict") glance.verdict = text_in(event, "said");
  }
  std::error_code none;
  if (!fs::exists(run / "events.jsonl", none) && fs::exists(run / "result.json", none))
    said.end = RunEnd::finished;
  glance.last_word = said.words;
  return said.end;
}

std::string text_of(const ordered_json& value) {
  if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
  return value.is_string() ? value.get<std::string>() : value.dump();
}

bool is_of_place(const std::string& name) {
  return name == "member" || name == "stage" || name == "epoch";
}

std::int64_t whole(const ordered_json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_number_integer() ? found->get<std::int64_t>() : -1;
}

// The newest row that is of steps alone.
void read_rows(const fs::path& file, RunGlance& glance) {
  for (const std::string& line : last_lines(file) | std::views::reverse) {
    const ordered_json row = ordered_json::parse(line, nullptr, false);
    if (!row.is_object() || !row.contains("samples_per_s")) continue;
    for (const auto& [name, value] : row.items())
      if (!is_of_place(name)) glance.step_figures.emplace_back(name, text_of(value));
    glance.row_epoch = whole(row, "epoch");
    glance.row_step = whole(row, "step");
    return;
  }
}

// Rows of the member and the stage of the last one.
std::vector<std::map<std::string, std::string>> rows_of_stage(const CsvTable& table) {
  std::vector<std::map<std::string, std::string>> rows;
  for (const std::vector<std::string>& cells : table.rows) {
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < cells.size(); ++i)
      row[table.columns[i]] = cells[i];
  }
  if (rows.empty()) return rows;
  const auto last = rows.back();
  const auto cell = [](const auto& row, const char* name) {
    const auto found = row.find(name);
    return found == row.end() ? std::string() : found->second;
  };
  std::erase_if(rows, [&](const auto& row) {
    return cell(row, "member") != cell(last, "member") || cell(row, "stage") != cell(last, "stage");
  });
  return rows;
}

// Without a row where the file cannot be read.
CsvTable table_of(const fs::path& file) {
  try {
    return read_csv_file(file);
  } catch (const ResourceError&) {
    return {};
  }
}

void read_epochs(const fs::path& file, RunGlance& glance) {
  const CsvTable table = table_of(file);
  auto rows = rows_of_stage(table);
  if (rows.empty()) return;
  glance.epochs_done = number(rows.back()["epoch"]) + 1;
  if (glance.epochs_done > 0)
    glance.steps_an_epoch = number(rows.back()["step"]) / glance.epochs_done;
  for (const char* of : {"val_", "train_"})
    for (const std::string& column : table.columns)
      if (const std::string& cell = rows.back()[column]; column.starts_with(of) && !cell.empty())
        glance.epoch_figures.emplace_back(
            column, fmt::format("{:.4g}", std::strtod(cell.c_str(), nullptr)));
  double seconds = 0.0;
  const std::size_t recent = std::min<std::size_t>(rows.size(), 3);
  for (std::size_t i = rows.size() - recent; i < rows.size(); ++i)
    seconds += std::strtod(rows[i]["epoch_s"].c_str(), nullptr);
  glance.epoch_s = seconds / static_cast<double>(recent);
  for (auto& row : rows)
    if (row["improved"] == "1") glance.best_epoch = number(row["epoch"]) + 1;
}

// Lines of the log come each ten seconds or 32 steps, rows each five; an epoch that is done has a
// row of its own.
void bring_up_to_date(RunGlance& glance) {
  if (!glance.progress) return;
  ProgressLine& progress = *glance.progress;
  const auto to = [&progress](std::int64_t epoch, double share) {
    if (epoch > progress.epochs || share < 0.0 || share > 1.0) return;
    if (epoch < progress.epoch || (epoch == progress.epoch && share <= progress.share)) return;
    progress.epoch = epoch;
    progress.share = share;
    progress.left.clear();
  };
  to(glance.epochs_done, 1.0);
  if (glance.row_epoch < 0 || glance.steps_an_epoch <= 0) return;
  const std::int64_t behind = glance.row_step - glance.row_epoch * glance.steps_an_epoch;
  to(glance.row_epoch + 1,
     static_cast<double>(behind) / static_cast<double>(glance.steps_an_epoch));
}

void read_advice(const fs::path& file, RunGlance& glance) {
  const std::vector<std::string> lines = last_lines(file);
  if (lines.empty()) return;
  const ordered_json advice = ordered_json::parse(lines.back(), nullptr, false);
  if (!advice.is_object()) return;
  const auto word = [&advice](const char* key) {
    const auto found = advice.find(key);
    return found == advice.end() || found->is_null() ? std::string() : text_of(*found);
  };
  glance.advice = word("severity") + " · " + word("verdict");
  if (!word("setting").empty()) glance.advice += " · " + word("setting");
  if (!word("new").empty()) glance.advice += fmt::format(" {} -> {}", word("old"), word("new"));
  if (!word("effect").empty()) glance.advice += " · " + word("effect");
}

void read_state(const fs::path& run, std::optional<RunEnd> said, RunGlance& glance) {
  glance.process = read_run_process(run);
  glance.end = run_end(run, said);
  if (glance.end != RunEnd::running) return;
  glance.last_word.clear();
  double up_s = 0.0;
  std::ifstream("/proc/uptime") >> up_s;
  glance.running_s = up_s - static_cast<double>(process_started(glance.process->pid)) /
                                static_cast<double>(::sysconf(_SC_CLK_TCK));
}

void read_machine(const fs::path& run, RunGlance& glance) {
  for (const std::string& line : last_lines(run / "system.jsonl") | std::views::reverse) {
    std::optional<monitor::SystemSample> sample = monitor::read_system_line(line);
    if (!sample) continue;
    glance.busiest = sample->busiest;
    if (!glance.machine) glance.machine = std::move(sample);
    if (!glance.busiest.empty()) return;
  }
}

std::string kind_of(const fs::path& run) {
  try {
    const Node document = read_document(run / "config.yaml");
    const Entry* kind = document.find("kind");
    return kind == nullptr ? std::string() : kind->value.text;
  } catch (const std::exception&) {
    return {};
  }
}

}  // namespace

std::optional<ProgressLine> parse_progress(std::string_view line) {
  ProgressLine progress;
  const std::string_view head = next_part(line);
  auto epoch = head.find("epoch ");
  if (epoch == std::string_view::npos || line.empty()) return std::nullopt;
  if (epoch > 0) progress.head = head.substr(0, epoch - 1);
  const std::string_view place = head.substr(epoch + 6);
  const auto slash = place.find('/');
  const auto blank = place.find(' ');
  if (slash == std::string_view::npos || blank == std::string_view::npos || !place.ends_with(" %"))
    return std::nullopt;
  progress.epoch = number(place.substr(0, slash));
  progress.epochs = number(place.substr(slash + 1, blank - slash - 1));
  if (progress.epoch < 1 || progress.epochs < progress.epoch) return std::nullopt;
  progress.share = std::strtod(std::string(place.substr(blank + 1)).c_str(), nullptr) / 100.0;
  while (!line.empty()) {
    const std::string_view part = next_part(line);
    if (part.ends_with(" samples/s"))
      progress.pace = part;
    else if (part.starts_with("epoch done in "))
      progress.left = part;
    else if (part.starts_with("step "))
      progress.step = part;
    else if (part.find("lr ") != std::string_view::npos)
      progress.figures = part;
  }
  return progress;
}

RunGlance read_run_glance(const fs::path& run) {
  std::error_code error;
  if (!fs::is_regular_file(run / "config.yaml", error))
    throw ConfigError(
        fmt::format("[top] {}: must be the folder of a run, got one without a config.yaml that can "
                    "be read",
                    run.string()));
  RunGlance glance{.name = fs::weakly_canonical(run, error).filename().string(),
                   .kind = kind_of(run)};
  if (glance.name.empty()) glance.name = run.string();
  read_log(run / "log.txt", glance);
  const std::optional<RunEnd> said = read_events(run, glance);
  read_rows(run / "metrics.jsonl", glance);
  read_epochs(run / "metrics.csv", glance);
  bring_up_to_date(glance);
  read_advice(run / "advice.jsonl", glance);
  read_state(run, said, glance);
  read_machine(run, glance);
  glance.bad_samples = count_lines(run / "bad_samples.jsonl");
  glance.bad_steps = count_lines(run / "bad_steps.jsonl");
  for (const char* file : {"log.txt", "metrics.jsonl"}) {
    const double silent = seconds_since_written(run / file);
    if (silent >= 0.0 && (glance.silent_s < 0.0 || silent < glance.silent_s))
      glance.silent_s = silent;
  }
  return glance;
}

}  // namespace headrace::inline v1::app
