#pragma once

#include <headrace/apps/task/data_set.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::app {

/// What a column or an array is called that says who is behind each record ("Patient ID",
/// subject_ids, group): the place among such names, the likeliest first. Nothing: another name, or
/// one that is as well a label's ("lesion", "case", and not "lesion_id").
std::optional<std::size_t> group_rank(std::string_view name);

/// Columns of a list with such names that nothing else is read from, the likeliest first; of a set
/// that is no list none. Throws what reading the list's first row throws.
std::vector<std::string> group_columns(const DataSet& set);

}  // namespace headrace::inline v1::app
