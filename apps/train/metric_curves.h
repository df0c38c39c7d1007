#pragma once

#include <headrace/apps/run/csv_table.h>

#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// A column of metrics.csv for each member, in the order of their numbers: a value an epoch, all
/// stages end to end, not a number where there is none. Of an epoch that was done twice, by a run
/// that went on from before it, the last counts. Empty where no member has a number.
std::vector<std::vector<double>> metric_curves(const CsvTable& metrics, const std::string& column);

/// At each place the mean of those that are there; not a number where none is.
std::vector<double> mean_curve(const std::vector<std::vector<double>>& curves);

/// How many steps a member has done before a stage: the last of each stage before, by metrics.csv.
std::int64_t steps_before_stage(const CsvTable& metrics, std::int64_t member,
                                const std::string& stage);

}  // namespace headrace::inline v1::app
