#include <headrace/apps/report/page.h>
#include <headrace/apps/report/report_sections.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr std::size_t most_rows = 300;
constexpr std::size_t most_columns = 6;

std::string number_text(double value) {
  return std::isfinite(value) ? fmt::format("{:.4g}", value) : std::string();
}

std::string seconds_text(double value) {
  return std::isfinite(value) ? monitor::format_seconds(value) : std::string();
}

// The last epoch of each member and stage that was better than those before.
std::set<std::size_t> best_rows(const EpochLog& log) {
  std::map<std::pair<std::int64_t, std::string>, std::size_t> last;
  for (std::size_t i = 0; i < log.rows().size(); ++i)
    if (log.value(log.rows()[i], "improved") == 1.0)
      last[{log.rows()[i].member, log.rows()[i].stage}] = i;
  std::set<std::size_t> rows;
  for (const auto& [of, row] : last)
    rows.insert(row);
  return rows;
}

// The best, and of the others evenly as many as have room.
std::vector<std::size_t> shown_rows(std::size_t all, const std::set<std::size_t>& best) {
  const std::size_t step = (all + most_rows - 1) / most_rows;
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < all; ++i)
    if (i % step == 0 || i + 1 == all || (best.contains(i) && best.size() <= most_rows))
      rows.push_back(i);
  return rows;
}

class Rows {
 public:
  Rows(const EpochLog& log, const StepHistory& steps)
      : log_(log), steps_(steps), figures_(log.figures()), several_(log.members().size() > 1) {
    figures_.resize(std::min(figures_.size(), most_columns));
    staged_ = std::any_of(log.rows().begin(), log.rows().end(),
                          [](const EpochLog::Row& row) { return !row.stage.empty(); });
    if (several_) table_.headings.emplace_back("member");
    if (staged_) table_.headings.emplace_back("stage");
    table_.headings.emplace_back("epoch");
    table_.text_columns = table_.headings.size();
    for (const std::string& figure : figures_)
      for (const char* part : {"train ", "val "})
        if (log.has(column_of(part, figure))) table_.headings.push_back(part + words_of(figure));
    for (const char* name :
         {"rate", "step", "data stall", "samples/s", "validation", "epoch took", "memory, most"})
      table_.headings.emplace_back(name);
  }

  void add(std::size_t place, bool best) {
    const EpochLog::Row& row = log_.rows()[place];
    std::vector<std::string> cells;
    if (several_) cells.push_back(std::to_string(row.member));
    if (staged_) cells.push_back(row.stage);
    cells.push_back(std::to_string(row.epoch + 1) + (best ? " *" : ""));
    for (const std::string& figure : figures_)
      for (const char* part : {"train ", "val "})
        if (log_.has(column_of(part, figure)))
          cells.push_back(number_text(log_.value(row, column_of(part, figure))));
    add_times(cells, row);
    if (best) table_.marked.push_back(table_.rows.size());
    table_.rows.push_back(std::move(cells));
  }

  const PageTable& table() const { return table_; }

 private:
  // Breaks between lines where a name is long.
  static std::string words_of(std::string figure) {
    std::replace(figure.begin(), figure.end(), '_', ' ');
    return figure;
  }

  static std::string column_of(const std::string& part, const std::string& figure) {
    return part.substr(0, part.size() - 1) + '_' + figure;
  }

  void add_times(std::vector<std::string>& cells, const EpochLog::Row& row) const {
    cells.push_back(number_text(log_.value(row, "learning_rate")));
    cells.push_back(seconds_text(log_.value(row, "wall_s") / log_.value(row, "steps")));
    const double stall = log_.value(row, "data_stall_fraction");
    cells.push_back(std::isfinite(stall) ? monitor::format_share(stall) : std::string());
    const auto rate = steps_.rates.find({row.member, row.stage, row.epoch});
    cells.push_back(rate == steps_.rates.end() ? std::string()
                                               : monitor::format_rate(rate->second));
    cells.push_back(seconds_text(log_.value(row, "validation_s")));
    cells.push_back(seconds_text(log_.value(row, "epoch_s")));
    const double memory = log_.value(row, "peak_memory_bytes");
    cells.push_back(memory >= 0.0 ? monitor::format_bytes(static_cast<std::uint64_t>(memory))
                                  : std::string());
  }

  const EpochLog& log_;
  const StepHistory& steps_;
  std::vector<std::string> figures_;
  bool several_;
  bool staged_ = false;
  PageTable table_;
};

}  // namespace

std::string report_epochs(const RunRecord& run, const StepHistory& steps) {
  const EpochLog& log = run.epochs;
  if (log.empty()) return {};
  const std::set<std::size_t> best = best_rows(log);
  const std::vector<std::size_t> shown = shown_rows(log.rows().size(), best);
  Rows rows(log, steps);
  for (const std::size_t place : shown)
    rows.add(place, best.contains(place));
  std::string html = to_html(rows.table());
  if (shown.size() < log.rows().size())
    html += paragraph(
        fmt::format("{} of {} epochs; metrics.csv has them all", shown.size(), log.rows().size()),
        "faint");
  return section("Epochs", html);
}

}  // namespace headrace::inline v1::app
