#include <headrace/apps/feed/plan_table.h>
#include <headrace/apps/run/data_log.h>

#include <algorithm>
#include <vector>

namespace headrace::inline v1::app {
namespace {

// What of a table Residence::automatic keeps: smallest dataset first, while the budget lasts.
std::size_t resident_part(const Source& table, std::size_t budget) {
  std::vector<std::size_t> datasets;
  for (const FieldSpec& field : table.fields()) {
    datasets.push_back(field.row_bytes() * static_cast<std::size_t>(table.size()));
  }
  std::sort(datasets.begin(), datasets.end());
  std::size_t sum = 0;
  for (const std::size_t bytes : datasets) {
    if (bytes <= budget - sum) sum += bytes;
  }
  return sum;
}

}  // namespace

void log_table(headrace::LogLevel level, std::string_view line) {
  if (level == headrace::LogLevel::warning || line.starts_with("[stage]")) log_data(level, line);
}

PlannedSource plan_table(const Hdf5TableOptions& options) {
  Hdf5TableOptions outline_options = options;
  outline_options.residence = Residence::file;
  outline_options.stage.clear();  // nothing but the outline is read before open()
  const auto outline = std::make_shared<const Hdf5Table>(outline_options);
  Hdf5TableOptions opened = options;
  opened.log = &log_table;
  return {.outline = outline,
          .resident_bytes = resident_part(*outline, options.memory),
          .open = [opened] { return std::make_shared<const Hdf5Table>(opened); }};
}

}  // namespace headrace::inline v1::app
