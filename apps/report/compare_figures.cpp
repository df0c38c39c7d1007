#include <headrace/apps/figures/no_value.h>
#include <headrace/apps/report/compare_runs.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace headrace::inline v1::app {
namespace {

constexpr double negligible_share = 0.01;

using Values = std::vector<double>;
using ValuesOf = std::function<Values(const ComparedRun&)>;
using EpochValue = std::function<double(const ComparedRun&, const EpochLog::Row&)>;

// Of each epoch behind a member's first, which warms up; of a member with one epoch that one.
Values of_epochs(const ComparedRun& run, const EpochValue& value) {
  Values values;
  const EpochLog& log = run.record.epochs;
  for (const std::int64_t member : log.members()) {
    const std::vector<std::size_t> rows = log.rows_of(member);
    for (std::size_t i = rows.size() > 1 ? 1 : 0; i < rows.size(); ++i)
      values.push_back(value(run, log.rows()[rows[i]]));
  }
  return values;
}

EpochValue column(const std::string& name) {
  return [name](const ComparedRun& run, const EpochLog::Row& row) {
    return run.record.epochs.value(row, name);
  };
}

EpochValue ratio(const std::string& name, const std::string& of) {
  return [name, of](const ComparedRun& run, const EpochLog::Row& row) {
    return run.record.epochs.value(row, name) / run.record.epochs.value(row, of);
  };
}

double rate_of(const ComparedRun& run, const EpochLog::Row& row) {
  const auto found = run.steps.rates.find({row.member, row.stage, row.epoch});
  return found == run.steps.rates.end() ? no_value : found->second;
}

// The most of a column over the whole run: the process is one, so that members are no repeats.
Values most_of(const ComparedRun& run, const std::string& name) {
  Values most;
  const EpochLog& log = run.record.epochs;
  for (const EpochLog::Row& row : log.rows()) {
    const double value = log.value(row, name);
    if (std::isfinite(value) && (most.empty() || value > most.front())) most = {value};
  }
  return most;
}

Values at_the_end(const ComparedRun& run, const std::string& name) {
  Values values;
  const EpochLog& log = run.record.epochs;
  for (const std::int64_t member : log.members())
    values.push_back(log.value(log.rows()[log.rows_of(member).back()], name));
  return values;
}

// What was kept of each member; of one that is not done its best epoch so far.
Values kept(const ComparedRun& run, const std::string& figure) {
  Values values;
  for (const MemberResult& result : run.record.results)
    if (const auto found = result.validation.find(figure); found != result.validation.end())
      values.push_back(found->second);
  if (!run.record.results.empty()) return values;
  const EpochLog& log = run.record.epochs;
  for (const std::int64_t member : log.members()) {
    double last = no_value;
    for (const std::size_t row : log.rows_of(member))
      if (log.value(log.rows()[row], "improved") == 1.0)
        last = log.value(log.rows()[row], "val_" + figure);
    values.push_back(last);
  }
  return values;
}

Values tested(const ComparedRun& run, const std::string& figure) {
  Values values;
  for (const MemberResult& result : run.record.results)
    if (const auto found = result.test.find(figure); found != result.test.end())
      values.push_back(found->second);
  return values;
}

class Figures {
 public:
  explicit Figures(const std::vector<ComparedRun>& runs) : runs_(runs) {}

  void add(std::string name, FigureKind kind, std::string over, const ValuesOf& values) {
    ComparedFigure figure{.name = std::move(name), .kind = kind, .over = std::move(over)};
    for (const ComparedRun& run : runs_)
      figure.runs.push_back(spread_over(values(run)));
    if (std::all_of(figure.runs.begin(), figure.runs.end(),
                    [](const Spread& spread) { return spread.count == 0; }))
      return;
    for (std::size_t i = 1; i < figure.runs.size(); ++i)
      figure.differences.push_back(difference_of(kind, figure.runs.front(), figure.runs[i]));
    figures_.push_back(std::move(figure));
  }

  void add_epochs(std::string name, FigureKind kind, const EpochValue& value) {
    add(std::move(name), kind, "epochs",
        [&](const ComparedRun& run) { return of_epochs(run, value); });
  }

  // A part of a step.
  void add_part(const std::string& name, const std::string& part) {
    add_epochs(name, FigureKind::seconds, ratio(part, "steps"));
    drop_small(name, part);
  }

  void add_stall() {
    add_epochs("data stall", FigureKind::share, ratio("data_wait_s", "wall_s"));
    drop_small("data stall", "data_wait_s");
  }

  std::vector<ComparedFigure> take() { return std::move(figures_); }

 private:
  // Where a part is next to nothing in both, a difference of it says nothing, either.
  void drop_small(const std::string& name, const std::string& part) {
    if (figures_.empty() || figures_.back().name != name) return;
    const auto small = [&](std::size_t run) {
      const Spread share = spread_over(of_epochs(runs_[run], ratio(part, "wall_s")));
      return share.count > 0 && share.mean < negligible_share;
    };
    for (std::size_t i = 1; i < runs_.size(); ++i) {
      FigureDifference& said = figures_.back().differences[i - 1];
      if (said.finding == DifferenceKind::same || !small(0) || !small(i)) continue;
      said.finding = DifferenceKind::negligible;
      said.words = "under 1 % of a step in both";
      said.amount.clear();
    }
  }

  const std::vector<ComparedRun>& runs_;
  std::vector<ComparedFigure> figures_;
};

// Names that any run has, in the order in which they come first.
std::vector<std::string> learnt_names(const std::vector<ComparedRun>& runs) {
  std::vector<std::string> names;
  const auto add = [&names](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const ComparedRun& run : runs) {
    for (const std::string& name : run.record.epochs.figures())
      add(name);
    for (const MemberResult& result : run.record.results)
      for (const auto& [name, value] : result.test)
        add(name);
  }
  return names;
}

void add_learnt(Figures& figures, const std::vector<ComparedRun>& runs) {
  const auto learnt = [&figures](const std::string& name, const ValuesOf& values) {
    figures.add(name, FigureKind::learnt, "members", values);
  };
  for (const std::string& name : learnt_names(runs)) {
    learnt("validation " + name + ", kept",
           [&](const ComparedRun& run) { return kept(run, name); });
    learnt("test " + name, [&](const ComparedRun& run) { return tested(run, name); });
    if (name != "loss") continue;
    learnt("train loss, last",
           [](const ComparedRun& run) { return at_the_end(run, "train_loss"); });
    learnt("validation loss, last",
           [](const ComparedRun& run) { return at_the_end(run, "val_loss"); });
  }
}

}  // namespace

std::vector<ComparedFigure> compare_figures(const std::vector<ComparedRun>& runs) {
  Figures figures(runs);
  add_learnt(figures, runs);
  figures.add_epochs("samples/s", FigureKind::rate, rate_of);
  figures.add_epochs("step", FigureKind::seconds, ratio("wall_s", "steps"));
  figures.add_part("step: data wait", "data_wait_s");
  figures.add_part("step: copy", "copy_s");
  figures.add_part("step: compute", "compute_s");
  figures.add_part("step: other", "other_s");
  figures.add_stall();
  figures.add_epochs("epoch", FigureKind::seconds, column("epoch_s"));
  figures.add_epochs("validation", FigureKind::seconds, column("validation_s"));
  figures.add_epochs("tensors, most", FigureKind::bytes, column("training_tensors_peak_bytes"));
  const auto most = [&figures](const char* shown, const char* name) {
    figures.add(shown, FigureKind::bytes, "one value",
                [name](const ComparedRun& run) { return most_of(run, name); });
  };
  most("memory held, most", "peak_memory_bytes");
  most("GPU reserved, most", "training_reserved_peak_bytes");
  const auto mean = [&figures](const char* shown, const char* name) {
    figures.add(shown, FigureKind::share, "one value", [name](const ComparedRun& run) {
      const auto found = run.machine_means.find(name);
      return found == run.machine_means.end() ? Values() : Values{found->second};
    });
  };
  mean("CPU of the machine", "machine_share");
  mean("CPU of the run", "process_share");
  mean("GPU 0 busy", "gpu0.busy_share");
  return figures.take();
}

}  // namespace headrace::inline v1::app
