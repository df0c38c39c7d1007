#include <headrace/engine/base/error.h>
#include <headrace/monitor/format.h>
#include <headrace/monitor/memory/memory_forecast.h>

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::monitor {
namespace {

std::string row(const std::string& name, std::size_t width, const std::string& value,
                const std::string& how) {
  std::string text = fmt::format("  {:<{}}  {:>10}", name, width, value);
  if (!how.empty()) text += "  " + how;
  return text + '\n';
}

}  // namespace

void MemoryForecast::add(std::string name, std::uint64_t bytes, std::string how) {
  items_.push_back({std::move(name), bytes, std::move(how)});
}

std::uint64_t MemoryForecast::total() const {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t sum = 0;
  for (const ForecastItem& item : items_)
    sum = item.bytes > most - sum ? most : sum + item.bytes;
  return sum;
}

std::string MemoryForecast::table(const MemoryLimit& limit) const {
  std::size_t width = 7;
  for (const ForecastItem& item : items_)
    width = std::max(width, item.name.size());
  std::string text;
  for (const ForecastItem& item : items_)
    text += row(item.name, width, format_bytes(item.bytes), item.how);
  text += "  " + std::string(width + 12, '-') + '\n';
  text += row("total", width, format_bytes(total()), {});
  text += row("limit", width, format_bytes(limit.bytes), limit.source);
  const bool ok = fits(limit.bytes);
  text += row(ok ? "left" : "missing", width,
              format_bytes(ok ? limit.bytes - total() : total() - limit.bytes), {});
  return text;
}

std::string MemoryForecast::line(const MemoryLimit& limit) const {
  constexpr std::size_t named = 2;
  std::vector<ForecastItem> largest = items_;
  std::stable_sort(largest.begin(), largest.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  std::string text = fmt::format("memory {} of {} ({})", format_bytes(total()),
                                 format_bytes(limit.bytes), limit.source);
  for (std::size_t i = 0; i < std::min(named, largest.size()); ++i)
    text += fmt::format("{} {} {}", i == 0 ? ":" : ",", largest[i].name,
                        format_bytes(largest[i].bytes));
  if (largest.size() > named) text += fmt::format(", {} more", largest.size() - named);
  return text;
}

void MemoryForecast::require(const MemoryLimit& limit) const {
  if (fits(limit.bytes)) return;
  const auto largest = std::max_element(
      items_.begin(), items_.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  throw ResourceError(fmt::format(
      "[memory] the forecast must fit the limit of {} ({}), got {}; raise the limit or shrink {}, "
      "the largest part\n{}",
      format_bytes(limit.bytes), limit.source, format_bytes(total()), largest->name, table(limit)));
}

}  // namespace headrace::inline v1::monitor
