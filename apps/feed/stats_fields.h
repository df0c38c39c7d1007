#pragma once

#include <headrace/engine/base/internal/json_fields.h>
#include <headrace/engine/stats/stats.h>
#include <headrace/monitor/advice/run_facts.h>

namespace headrace::inline v1 {

/// As JSON has them.
void fields(of_type<Durations> auto& durations, const auto& field) {
  field("count", durations.count);
  field("total_s", durations.total_s);
  field("p50_s", durations.p50_s);
  field("p99_s", durations.p99_s);
  field("max_s", durations.max_s);
}

}  // namespace headrace::inline v1

namespace headrace::inline v1::monitor {

/// As JSON has what a window says of them.
void fields(of_type<ReadFacts> auto& reads, const auto& field) {
  field("bytes_read", reads.bytes_read);
  field("bytes_used", reads.bytes_used);
  field("why", reads.why);
  field("setting", reads.setting);
  field("old", reads.old_value);
  field("new", reads.new_value);
  field("predicted", reads.predicted);
}

}  // namespace headrace::inline v1::monitor
