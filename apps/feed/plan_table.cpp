#include <headrace/apps/feed/plan_table.h>
#include <headrace/apps/feed/read_window.h>
#include <headrace/apps/run/data_log.h>
#include <headrace/apps/terminal/progress.h>
#include <headrace/apps/terminal/text_width.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
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

// Fields may differ in their chunks; where the first one has none, the others' are not told.
monitor::ReadFacts reads_of(const Hdf5Table& table) {
  const Hdf5ChunkReads counted = table.chunk_reads();
  monitor::ReadFacts facts =
      monitor::row_reads({.unpacked = static_cast<double>(counted.bytes_unpacked),
                          .used = static_cast<double>(counted.bytes_used)},
                         table.chunk_rows());
  if (table.chunk_rows() > 1) return facts;
  facts.why = "rows in any order out of chunks of many rows";
  facts.old_value = "chunked";
  return facts;
}

}  // namespace

void log_table(headrace::LogLevel level, std::string_view line) {
  if (level == headrace::LogLevel::warning || line.starts_with("[stage]")) log_data(level, line);
}

StageCallback show_stage() {
  return [view = std::make_shared<std::optional<Progress>>()](const StageProgress& copy) {
    if (!*view) {
      view->emplace("stage " + clean_text(copy.file.filename().string()),
                    static_cast<std::int64_t>(copy.all), "bytes");
    }
    (*view)->show(static_cast<std::int64_t>(copy.done));
    if (copy.done < copy.all) return;
    (*view)->end();
    view->reset();
  };
}

Hdf5TableOptions telling(Hdf5TableOptions options) {
  options.log = &log_table;
  options.on_stage = show_stage();
  return options;
}

void watch_table(const std::shared_ptr<const Hdf5Table>& table) {
  watch_reads([known = std::weak_ptr(table)]() -> std::optional<monitor::ReadFacts> {
    const auto open = known.lock();
    return open ? std::optional(reads_of(*open)) : std::nullopt;
  });
}

PlannedSource plan_table(const Hdf5TableOptions& options) {
  Hdf5TableOptions outline_options = options;
  outline_options.residence = Residence::file;
  outline_options.stage.clear();  // nothing but the outline is read before open()
  const auto outline = std::make_shared<const Hdf5Table>(outline_options);
  return {.outline = outline,
          .resident_bytes = resident_part(*outline, options.memory),
          .open = [opened = telling(options)] {
            const auto table = std::make_shared<const Hdf5Table>(opened);
            watch_table(table);
            return table;
          }};
}

}  // namespace headrace::inline v1::app
