#include <headrace/apps/figures/figure_text.h>
#include <headrace/apps/figures/vote_table.h>
#include <headrace/apps/terminal/table.h>
#include <headrace/apps/terminal/text_width.h>

#include <algorithm>
#include <string_view>

namespace headrace::inline v1::app {
namespace {

constexpr const char* all_together = "all together";
constexpr const char* separator = ", ";
constexpr std::size_t most_vote_columns = 100;
constexpr std::size_t widest_name = 40;

// Of any of them, what decides between networks first.
std::vector<std::string> figure_names(const std::vector<FoldOutcome>& votes) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    const auto has = [&](const FoldOutcome& vote) { return vote.test.contains(name); };
    if (std::ranges::find(names, name) == names.end() && std::ranges::any_of(votes, has))
      names.push_back(name);
  };
  add(votes.front().selected_by);
  for (const char* name : {"accuracy", "qwk", "macro_f1"})
    add(name);
  for (const FoldOutcome& vote : votes)
    for (const auto& [name, value] : vote.test)
      add(name);
  return names;
}

std::string table_of(const std::vector<FoldOutcome>& votes, const std::vector<std::string>& names) {
  std::vector<Table::Column> columns{
      {.heading = std::string(all_together) + separator + "test", .align = Align::left}};
  for (const std::string& name : names)
    columns.push_back({.heading = figure_words(name)});
  Table table(columns);
  for (const FoldOutcome& vote : votes) {
    std::vector<std::string> cells{clean_text(vote_name(vote), widest_name)};
    for (const std::string& name : names) {
      const auto found = vote.test.find(name);
      cells.push_back(found == vote.test.end() ? "" : figure_text(found->second));
    }
    table.row(std::move(cells));
  }
  std::string text = table.text();
  text.pop_back();
  return text;
}

// That of the rule below the head.
std::size_t rule_width(const std::string& table) {
  const auto rule = table.find('\n') + 1;
  return text_width(std::string_view(table).substr(rule, table.find('\n', rule) - rule));
}

}  // namespace

std::string vote_member(const std::string& name) {
  return name.empty() ? all_together : all_together + (separator + name);
}

std::string vote_name(const FoldOutcome& vote) {
  const std::string begin = vote_member("") + separator;
  return vote.member.starts_with(begin) ? vote.member.substr(begin.size()) : std::string();
}

std::string vote_table(const std::vector<FoldOutcome>& votes) {
  std::vector<std::string> shown;
  for (const std::string& name : figure_names(votes)) {
    shown.push_back(name);
    if (rule_width(table_of(votes, shown)) > most_vote_columns) shown.pop_back();
  }
  return table_of(votes, shown);
}

}  // namespace headrace::inline v1::app
