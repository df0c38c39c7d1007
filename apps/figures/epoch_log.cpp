#include <headrace/apps/figures/epoch_log.h>
#include <headrace/apps/figures/no_value.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <tuple>

namespace headrace::inline v1::app {
namespace {

double number(const std::string& text) {
  if (text.empty()) return no_value;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return *end == '\0' ? value : no_value;
}

}  // namespace

EpochLog::EpochLog(const CsvTable& metrics) : columns_(metrics.columns) {
  const std::size_t member = column("member");
  const std::size_t stage = column("stage");
  const std::size_t epoch = column("epoch");
  const std::size_t bottleneck = column("bottleneck");
  if (epoch >= columns_.size()) return;
  std::map<std::tuple<std::int64_t, std::string, std::int64_t>, std::size_t> places;
  for (const std::vector<std::string>& cells : metrics.rows) {
    const auto cell = [&](std::size_t at) { return at < cells.size() ? cells[at] : std::string(); };
    if (!std::isfinite(number(cell(epoch)))) continue;
    Row row{.member = std::atoll(cell(member).c_str()),
            .stage = cell(stage),
            .epoch = std::atoll(cell(epoch).c_str()),
            .bottleneck = cell(bottleneck)};
    row.values.reserve(cells.size());
    for (const std::string& text : cells)
      row.values.push_back(number(text));
    const auto [place, is_new] =
        places.try_emplace({row.member, row.stage, row.epoch}, rows_.size());
    if (is_new)
      rows_.push_back(std::move(row));
    else
      rows_[place->second] = std::move(row);
  }
}

std::size_t EpochLog::column(const std::string& name) const {
  return static_cast<std::size_t>(std::find(columns_.begin(), columns_.end(), name) -
                                  columns_.begin());
}

bool EpochLog::has(const std::string& name) const {
  const std::size_t at = column(name);
  return std::any_of(rows_.begin(), rows_.end(), [at](const Row& row) {
    return at < row.values.size() && std::isfinite(row.values[at]);
  });
}

double EpochLog::value(const Row& row, const std::string& name) const {
  const std::size_t at = column(name);
  return at < row.values.size() ? row.values[at] : no_value;
}

std::vector<std::int64_t> EpochLog::members() const {
  std::vector<std::int64_t> members;
  for (const Row& row : rows_)
    members.push_back(row.member);
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  return members;
}

std::vector<std::size_t> EpochLog::rows_of(std::int64_t member) const {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (rows_[i].member == member) places.push_back(i);
  return places;
}

std::vector<std::string> EpochLog::figures() const {
  std::vector<std::string> names;
  for (const std::string& column : columns_) {
    for (const std::string prefix : {"train_", "val_"}) {
      if (!column.starts_with(prefix) || !has(column)) continue;
      const std::string name = column.substr(prefix.size());
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  std::stable_partition(names.begin(), names.end(),
                        [](const std::string& name) { return name == "loss"; });
  return names;
}

}  // namespace headrace::inline v1::app
