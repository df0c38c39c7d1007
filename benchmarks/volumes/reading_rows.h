#pragma once

#include <headrace/benchmarks/harness/report.h>
#include <headrace/benchmarks/volumes/data.h>

#include <cstdint>

namespace headrace::inline v1::bench {

/// Random patches of the large volume out of every format, from a full cache and from cold files,
/// with caches of all and of a quarter of the data; and what that is of the codec alone.
void report_reading(const Work& work, std::int64_t patches, int repeats, Report& report);

}  // namespace headrace::inline v1::bench
