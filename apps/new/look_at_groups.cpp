#include <headrace/apps/new/look_at_groups.h>
#include <headrace/apps/task/find_groups.h>
#include <headrace/apps/task/group_columns.h>
#include <headrace/apps/task/records.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/printable.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

// The first of the columns with such a name by which most records have a fellow. One that cannot be
// read, or lies on both sides of the column "split", is told.
std::optional<FoundGroups> by_column(DataFacts& facts, const LabelledSource& train, bool masks) {
  const std::size_t least = std::max<std::size_t>(3, train.classes().size() + 1);
  for (const std::string& column : group_columns(facts.found.train)) {
    DataSet set = facts.found.train;
    set.columns.group = column;
    const std::string name = printable(column, 100);
    try {
      const TaskData quiet{.listings = {}, .follow_links = facts.follow_links};
      const auto grouped = open_set(set, quiet, "data.train", masks).source;
      FoundGroups found{.pattern = column,
                        .groups = {.numbers = grouped->groups(), .names = grouped->group_names()}};
      const std::string what = describe_groups(found.groups, record_names(train), least);
      if (what.empty()) continue;
      found.reason = fmt::format("by the column \"{}\" {}", name, what);
      return found;
    } catch (const ConfigError& error) {
      facts.of_groups =
          fmt::format("the column \"{}\" cannot say who belongs together: {}", name, error.what());
    }
  }
  return std::nullopt;
}

// Why a part that is given cannot keep to a grouping; empty: it does.
std::string beside_part(const LabelledSource& part, const FoundGroups& found,
                        const std::string& section) {
  SharedGroups shared;
  try {
    shared = shared_groups(groups_by_name(found.pattern, record_names(part)), found.groups);
  } catch (const DataError&) {
    return fmt::format("; those of {} have other names, so it is not held to it", section);
  }
  if (shared.count == 0) return "";
  return fmt::format("; {} of these groups are in {}, too, \"{}\" for one: it is in part learnt",
                     shared.count, section, printable(shared.example, 100));
}

}  // namespace

void look_at_groups(DataFacts& facts, const LabelledSource& train, const GivenParts& given,
                    bool masks) {
  facts.groups = !train.groups().empty();
  const std::vector<DataSplit> splits = train.splits();
  facts.splits = !splits.empty();
  facts.validates = splits.empty() || std::ranges::count(splits, DataSplit::validation) > 0;
  if (facts.groups || !has_names(facts.found.train)) return;
  const std::vector<std::int64_t> labels = train.labels();
  auto found = given.empty() ? by_column(facts, train, masks) : std::nullopt;
  if (!found) found = find_groups(record_names(train), labels);
  if (!found) return;
  facts.of_groups += (facts.of_groups.empty() ? "" : "; ") + found->reason;
  if (facts.splits) {
    const SharedGroups divided = divided_groups(found->groups, train.splits());
    if (divided.count > 0)
      facts.of_groups += fmt::format(
          "; the column \"split\" divides {} of them, \"{}\" for one: "
          "what is judged is in part learnt",
          divided.count, printable(divided.example, 100));
    return;
  }
  SplitSettings split;
  if (facts.found.validation) split.validation = 0.0;
  if (facts.found.test) split.test = 0.0;
  for (const auto& [section, part] : given) {
    const std::string beside = beside_part(*part, *found, section);
    if (beside.empty()) continue;
    facts.of_groups += beside;
    return;
  }
  if (can_divide(found->groups, labels, split))
    facts.split_group = found->pattern;
  else
    facts.of_groups += "; too few to divide, so records of one are on several sides";
}

}  // namespace headrace::inline v1::app
