#pragma once

#include <headrace/apps/task/name_groups.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Groups that names or a column of a list show: two eyes, the slices of a patient.
struct FoundGroups {
  std::string pattern{};  ///< for data.split.group; of a column its name
  std::string reason{};   ///< with counts and an example
  RecordGroups groups{};
};

/// Looks for what names of a data set often have: an id behind a word (patient_0007_slice_3), parts
/// of something behind a word (0007_frame12), sides (7_left, 7_right), a number behind an id
/// (CNV-1016042-1), a folder with an id (patient7/3.png). A pattern counts where all names fit it,
/// at least half of them share their group with another, there are at least three groups, ten where
/// no word names them, and they are not the classes: neither is a group a class, nor says the rest
/// of a name the class alone. `labels`: of each record; empty: none, or several a record.
std::optional<FoundGroups> find_groups(const RecordNames& names,
                                       const std::vector<std::int64_t>& labels);

/// "40 names are of 20 groups, ..." where at least half of the records share theirs with another,
/// and there are at least so many groups; else empty.
std::string describe_groups(const RecordGroups& groups, const RecordNames& names,
                            std::size_t least);

/// Whether a division by them leaves no part without records, and no class without one to train on.
bool can_divide(const RecordGroups& groups, const std::vector<std::int64_t>& labels,
                const SplitSettings& split);

}  // namespace headrace::inline v1::app
