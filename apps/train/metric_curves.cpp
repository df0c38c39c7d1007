#include <headrace/apps/train/metric_curves.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace headrace::inline v1::app {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t no_column = static_cast<std::size_t>(-1);

std::size_t column_of(const CsvTable& table, const std::string& name) {
  const auto found = std::find(table.columns.begin(), table.columns.end(), name);
  return found == table.columns.end() ? no_column
                                      : static_cast<std::size_t>(found - table.columns.begin());
}

std::string cell(const std::vector<std::string>& row, std::size_t column) {
  return column == no_column ? std::string{} : row[column];
}

double cell_value(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return text.empty() || *end != '\0' ? none : value;
}

// Values of a member in the order in which its epochs, of a stage and a number, came first.
struct Curve {
  std::vector<std::pair<std::string, std::string>> epochs{};
  std::vector<double> values{};

  void set(const std::pair<std::string, std::string>& epoch, double value) {
    const auto found = std::find(epochs.begin(), epochs.end(), epoch);
    if (found != epochs.end()) {
      values[static_cast<std::size_t>(found - epochs.begin())] = value;
    } else {
      epochs.push_back(epoch);
      values.push_back(value);
    }
  }
};

}  // namespace

std::vector<std::vector<double>> metric_curves(const CsvTable& metrics, const std::string& column) {
  const std::size_t values = column_of(metrics, column);
  if (values == no_column) return {};
  const std::size_t member = column_of(metrics, "member");
  const std::size_t stage = column_of(metrics, "stage");
  const std::size_t epoch = column_of(metrics, "epoch");
  std::map<double, Curve> members;
  for (const std::vector<std::string>& row : metrics.rows)
    members[member == no_column ? 0.0 : std::atof(row[member].c_str())].set(
        {cell(row, stage), cell(row, epoch)}, cell_value(row[values]));
  std::vector<std::vector<double>> curves;
  for (auto& [index, curve] : members)
    if (std::any_of(curve.values.begin(), curve.values.end(),
                    [](double value) { return std::isfinite(value); }))
      curves.push_back(std::move(curve.values));
  return curves;
}

std::vector<double> mean_curve(const std::vector<std::vector<double>>& curves) {
  std::vector<double> means;
  for (std::size_t i = 0;; ++i) {
    double sum = 0.0;
    int count = 0;
    bool ended = true;
    for (const std::vector<double>& curve : curves) {
      if (i >= curve.size()) continue;
      ended = false;
      if (!std::isfinite(curve[i])) continue;
      sum += curve[i];
      ++count;
    }
    if (ended) return means;
    means.push_back(count == 0 ? none : sum / count);
  }
}

std::int64_t steps_before_stage(const CsvTable& metrics, std::int64_t member,
                                const std::string& stage) {
  const std::size_t members = column_of(metrics, "member");
  const std::size_t stages = column_of(metrics, "stage");
  const std::size_t steps = column_of(metrics, "step");
  std::map<std::string, std::int64_t> last;
  for (const std::vector<std::string>& row : metrics.rows) {
    const std::string of = cell(row, stages);
    if (cell(row, members) == std::to_string(member) && !of.empty() && of != stage)
      last[of] = std::atoll(cell(row, steps).c_str());
  }
  return std::accumulate(last.begin(), last.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& of) { return sum + of.second; });
}

}  // namespace headrace::inline v1::app
