#include <headrace/apps/jobs/planned_source.h>

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

PlannedSource plan_table(const Hdf5TableOptions& options) {
  Hdf5TableOptions outline_options = options;
  outline_options.residence = Residence::pread;
  const auto outline = std::make_shared<const Hdf5Table>(outline_options);
  return {.outline = outline,
          .resident_bytes = resident_part(*outline, options.memory),
          .open = [options] { return std::make_shared<const Hdf5Table>(options); }};
}

}  // namespace headrace::inline v1::app
