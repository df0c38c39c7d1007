#pragma once

#include <headrace/apps/run/metrics_writer.h>
#include <headrace/apps/train/reports.h>

#include <cstdint>
#include <string>

namespace headrace::inline v1::app {

/// An epoch for a person: training beside validation, pace, and where the wall time went. The parts
/// sum to the time of its steps.
std::string epoch_table(const EpochFacts& report, std::int64_t epochs, std::uint64_t peak_memory);

/// An epoch as a row for metrics.csv. Seconds are sums over the epoch's steps in this process.
MetricRow epoch_row(const EpochFacts& report);

}  // namespace headrace::inline v1::app
