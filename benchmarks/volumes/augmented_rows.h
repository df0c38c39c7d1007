#pragma once

#include <headrace/benchmarks/harness/report.h>
#include <headrace/benchmarks/volumes/data.h>

#include <cstdint>

namespace headrace::inline v1::bench {

/// Patches a second with every augmentation, beside a plain pass in bare threads, and what a cache
/// of a quarter of the data costs.
void report_augmented(const Work& work, std::int64_t patches, int repeats, Report& report);

}  // namespace headrace::inline v1::bench
