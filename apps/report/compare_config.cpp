#include <headrace/apps/report/compare_runs.h>
#include <headrace/apps/report/config_keys.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace headrace::inline v1::app {
namespace {

// Names and values of each run in the order in which they came first.
class KeyTable {
 public:
  explicit KeyTable(std::size_t runs) : runs_(runs) {}

  void add(std::size_t run, const std::string& key, const std::string& value) {
    const auto [place, is_new] = places_.try_emplace(key, rows_.size());
    if (is_new) rows_.push_back({.key = key, .values = std::vector<std::string>(runs_)});
    rows_[place->second].values[run] = value;
  }

  std::vector<KeyDifference> differing() {
    std::erase_if(rows_, [](const KeyDifference& row) {
      return std::all_of(row.values.begin(), row.values.end(),
                         [&](const std::string& value) { return value == row.values.front(); });
    });
    return std::move(rows_);
  }

 private:
  std::size_t runs_;
  std::map<std::string, std::size_t> places_;
  std::vector<KeyDifference> rows_;
};

// What is another in every process and says nothing of the machine.
bool is_of_the_moment(std::string_view key) {
  constexpr std::array names{
      "written",    "pid", "pid_started", "memory.available_bytes", "cgroup.usage_bytes",
      "cgroup.file"};
  return std::find(names.begin(), names.end(), key) != names.end();
}

}  // namespace

std::vector<KeyDifference> differing_keys(const std::vector<ComparedRun>& runs) {
  KeyTable table(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (const ConfigKey& key : config_keys(runs[i].record.config))
      table.add(i, key.path, key.value);
  return table.differing();
}

std::vector<KeyDifference> differing_environment(const std::vector<ComparedRun>& runs) {
  KeyTable table(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (const auto& [key, value] : runs[i].record.environment)
      if (!is_of_the_moment(key)) table.add(i, key, value);
  return table.differing();
}

}  // namespace headrace::inline v1::app
