#pragma once

#include <headrace/apps/job/job.h>

#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// A kind of configuration, for a list of them.
struct KindLine {
  std::string name{};
  std::string help{};  ///< one line
};

/// The kinds that a program reads: its jobs and "loader".
std::vector<KindLine> configuration_kinds(const std::vector<Job>& jobs);

/// Every key of a kind as Markdown: a table for each section (key, default, range with unit,
/// meaning), and one for the parameters of each entry that has a choice; those of the list
/// `augment` are augment_table_text(), which stands for the kind "augment". Throws ConfigError for
/// a kind that is not known.
std::string configuration_text(const std::vector<Job>& jobs, const std::string& kind);

/// The same of all kinds, one after the other.
std::string configurations_text(const std::vector<Job>& jobs);

}  // namespace headrace::inline v1::app
