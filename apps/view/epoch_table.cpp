#include <headrace/apps/terminal/text_width.h>
#include <headrace/apps/view/epoch_table.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr std::size_t figure_width = 6;
constexpr std::size_t most_figures = 3;
constexpr std::string_view term_prefix = "loss_";  // of the terms of a loss

// A column with this epoch's cell in it.
struct ColumnEntry {
  // What goes first where there is too little room stands last; `stays` does not go. Of a figure
  // its validation goes behind its training.
  enum Rank {
    stays,
    loss = 1,
    first_other = 3,
    epoch_time = 5,
    second_other = 6,
    rate = 8,
    memory
  };

  RowTable::Column column;
  std::string cell;
  int rank = stays;
};

bool has(const Figures& figures, const std::string& name) {
  return std::any_of(figures.begin(), figures.end(),
                     [&](const auto& figure) { return figure.first == name; });
}

// As many decimals, up to four, as there is room for.
std::string shown_figure(double value) {
  for (int decimals = 4; decimals >= 0; --decimals) {
    std::string text = fmt::format("{:.{}f}", value, decimals);
    if (text.size() <= figure_width) return text;
  }
  return fmt::format("{:.0e}", value);
}

std::string figure_cell(const Figures& figures, const std::string& name) {
  return has(figures, name) ? shown_figure(figure(figures, name)) : "-";
}

// "12.3 s", "4:10", "2:14:05", "31 h": at most seven columns.
std::string shown_time(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  if (seconds < 59.95) return monitor::format_seconds(seconds);
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  if (whole < 36'000)
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole % 3600 / 60, whole % 60);
  return fmt::format("{} h", whole / 3600);
}

std::string shown_share(double part, double whole) {
  if (!(whole > 0.0)) return "-";
  const double percent = std::max(0.0, 100.0 * part / whole);
  return percent < 9.95 ? fmt::format("{:.1f}%", percent) : fmt::format("{:.0f}%", percent);
}

void add_step(std::vector<ColumnEntry>& entries, const monitor::StepBudget& budget) {
  const std::string mean =
      budget.steps > 0 ? shown_time(budget.wall_s / static_cast<double>(budget.steps)) : "-";
  entries.push_back({{.heading = "step", .width = 7}, mean});
  const auto add = [&](const char* heading, std::size_t width, double part) {
    entries.push_back({{.heading = heading, .width = width}, shown_share(part, budget.wall_s)});
  };
  add("data", 4, budget.data_wait_s);
  add("copy", 4, budget.copy_s);
  add(budget.on_gpu ? "gpu" : "compute", budget.on_gpu ? 4 : 7, budget.compute_s);
  add("other", 5, budget.other_s);
}

std::size_t epoch_width(std::int64_t epochs) {
  return 2 * std::to_string(epochs).size() + 3;  // "12/20 *"
}

void make_fit(std::vector<ColumnEntry>& entries, std::size_t columns) {
  const auto width = [&] {
    std::size_t sum = 2 * (entries.size() - 1);
    for (const ColumnEntry& entry : entries)
      sum += entry.column.width;
    return sum;
  };
  while (width() > columns) {
    const auto last = std::max_element(
        entries.begin(), entries.end(),
        [](const ColumnEntry& a, const ColumnEntry& b) { return a.rank < b.rank; });
    if (last->rank == 0) return;
    entries.erase(last);
  }
}

std::string cut_lines(const std::string& text, std::size_t columns) {
  std::string result;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    result += clean_text(text.substr(start, end - start), columns) + '\n';
    start = end + 1;
  }
  return result;
}

// Indented as a part of the epoch above it; without the window where that has no room.
std::string budget_line(const monitor::StepBudget& budget, std::size_t columns) {
  const std::string sentence = "  " + budget.sentence();
  const std::string whole = fmt::format("{} ({})", sentence, budget.window());
  return (text_width(whole) <= columns ? whole : sentence) + '\n';
}

// A figure's training beside its validation, under its name.
void add_figure(std::vector<ColumnEntry>& entries, const EpochFacts& epoch,
                const ShownFigure& shown, int rank) {
  const std::size_t width =
      shown.train && shown.validation
          ? figure_width
          : std::clamp(text_width(shown.name), figure_width, 2 * figure_width + 2);
  const auto add = [&](const char* heading, const Figures& figures, int at) {
    entries.push_back({{.heading = heading, .width = width, .group = shown.name},
                       figure_cell(figures, shown.name),
                       at});
  };
  if (shown.train) add("train", epoch.train, rank + 1);
  if (shown.validation) add("val", epoch.validation, rank);
}

}  // namespace

// The loss, what selects, what else there is but the terms of the loss: names that came later go
// behind those of before.
void EpochTable::note_figures(const EpochFacts& epoch) {
  std::vector<std::string> names{"loss"};
  if (!epoch.selected_by.empty()) names.push_back(epoch.selected_by);
  for (const Figures* all : {&epoch.validation, &epoch.train}) {
    for (const auto& [name, value] : *all) {
      if (!name.starts_with(term_prefix)) names.push_back(name);
    }
  }
  for (const std::string& name : names) {
    const bool train = has(epoch.train, name);
    const bool validation = has(epoch.validation, name);
    const auto known = std::find_if(figures_.begin(), figures_.end(),
                                    [&](const ShownFigure& shown) { return shown.name == name; });
    if (known != figures_.end()) {
      known->train = known->train || train;
      known->validation = known->validation || validation;
    } else if (figures_.size() < most_figures && (train || validation)) {
      figures_.push_back({name, train, validation});
    }
  }
}

std::string EpochTable::lines(const EpochFacts& epoch, const EpochLine& line) {
  note_figures(epoch);
  const bool one_line = line.columns >= one_line_columns;
  std::vector<ColumnEntry> entries;
  entries.push_back(
      {{.heading = "epoch", .width = epoch_width(line.epochs), .align = Align::left},
       fmt::format("{}/{}{}", epoch.epoch + 1, line.epochs, epoch.improved ? " *" : "")});
  const int ranks[] = {ColumnEntry::loss, ColumnEntry::first_other, ColumnEntry::second_other};
  for (std::size_t i = 0; i < figures_.size(); ++i)
    add_figure(entries, epoch, figures_[i], ranks[i]);
  entries.push_back({{.heading = "lr", .width = 7},
                     fmt::format("{:.2g}", epoch.learning_rate),
                     ColumnEntry::rate});
  entries.push_back(
      {{.heading = "time", .width = 7}, shown_time(epoch.seconds), ColumnEntry::epoch_time});
  if (one_line) add_step(entries, line.budget);
  entries.push_back({{.heading = "memory", .width = 8},
                     monitor::format_bytes(line.peak_memory),
                     ColumnEntry::memory});
  make_fit(entries, line.columns);

  std::vector<RowTable::Column> columns;
  std::vector<std::string> cells;
  columns.reserve(entries.size());
  cells.reserve(entries.size());
  for (ColumnEntry& entry : entries) {
    columns.push_back(std::move(entry.column));
    cells.push_back(std::move(entry.cell));
  }
  const RowTable table(std::move(columns));
  const bool new_head = table.columns() != columns_;
  columns_ = table.columns();
  return cut_lines((new_head ? table.head() : std::string{}) + table.row(cells) +
                       (one_line ? std::string{} : budget_line(line.budget, line.columns)),
                   line.columns);
}

std::string loss_terms_text(const Figures& figures) {
  std::string text;
  for (const auto& [name, value] : figures)
    if (name.starts_with(term_prefix))
      text += fmt::format("{}{} {:.4f}", text.empty() ? "" : ", ", name.substr(term_prefix.size()),
                          value);
  return text;
}

std::string loss_terms_line(const EpochFacts& epoch) {
  const std::string train = loss_terms_text(epoch.train);
  const std::string validation = loss_terms_text(epoch.validation);
  if (train.empty() && validation.empty()) return {};
  return "loss terms:" + (train.empty() ? "" : " train " + train) +
         (train.empty() || validation.empty() ? "" : ";") +
         (validation.empty() ? "" : " validation " + validation);
}

MetricRow epoch_row(const EpochFacts& report) {
  MetricRow row{{"epoch", report.epoch}, {"step", report.step}};
  for (const auto& [name, value] : report.train)
    row.emplace_back("train_" + name, value);
  for (const auto& [name, value] : report.validation)
    row.emplace_back("val_" + name, value);
  row.insert(row.end(), {{"improved", static_cast<std::int64_t>(report.improved)},
                         {"learning_rate", report.learning_rate},
                         {"steps", report.steps},
                         {"wall_s", report.times.wall_s},
                         {"data_wait_s", report.times.data_wait_s},
                         {"copy_s", report.times.copy_s},
                         {"compute_s", report.times.compute_s},
                         {"other_s", report.times.other_s()},
                         {"validation_s", report.validation_s},
                         {"epoch_s", report.seconds}});
  return row;
}

}  // namespace headrace::inline v1::app
