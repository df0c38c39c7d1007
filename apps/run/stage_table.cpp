#include <headrace/apps/run/stage_table.h>
#include <headrace/apps/terminal/table.h>
#include <headrace/monitor/format.h>

#include <algorithm>

namespace headrace::inline v1::app {
namespace {

using monitor::format_seconds;
using monitor::format_share;

int threads_of(const StageStats& stage, const LoaderStats& stats) {
  if (stage.place == StageStats::Place::transfer) return 1;
  const int pool = stage.place == StageStats::Place::io ? stats.io_threads : stats.threads;
  return stage.limit > 0 ? std::min(stage.limit, pool) : pool;
}

}  // namespace

std::string stage_table(const LoaderStats& stats, double elapsed_s) {
  Table table({{"step", Align::left},
               {"stage", Align::left},
               {"items"},
               {"p50"},
               {"p99"},
               {"busy"},
               {"share"}});
  for (const StageStats& stage : stats.stages) {
    const double room = threads_of(stage, stats) * elapsed_s;
    table.row({stage.name, stage.role, std::to_string(stage.items),
               format_seconds(stage.service.p50_s), format_seconds(stage.service.p99_s),
               format_seconds(stage.busy_s), format_share(room > 0.0 ? stage.busy_s / room : 0.0)});
  }
  return table.text();
}

}  // namespace headrace::inline v1::app
