#pragma once

#include <headrace/benchmarks/harness/report.h>

#include <filesystem>

namespace headrace::inline v1::bench {

/// JPEG files, resident rows and packed chunks at each of the thread counts that `options` name,
/// beside bare threads of the same number, and beside as many times one thread.
void measure_scaling(const std::filesystem::path& folder, const Options& options, Report& report);

}  // namespace headrace::inline v1::bench
