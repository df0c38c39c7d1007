#include <headrace/apps/report/page.h>
#include <headrace/apps/report/report_sections.h>
#include <headrace/apps/terminal/utc.h>
#include <headrace/monitor/format.h>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

using monitor::CpuSpikes;
using monitor::format_share;

std::string level_text(double level) {
  return fmt::format("{:.0f} %", 100.0 * level);
}

std::string processes_text(const monitor::CpuSpike& spike) {
  std::string text;
  for (const monitor::ProcessUsage& process : spike.busiest)
    text += fmt::format("{}{} {:.1f}{}", text.empty() ? "" : ", ", process.name, process.cores,
                        process.ours ? " (of the run)" : "");
  return text;
}

}  // namespace

std::string report_spikes(const MachineHistory& system) {
  const ThinCurve* share = system.curve("machine_share");
  if (share == nullptr || system.seconds <= 0.0) return {};
  std::string busy =
      fmt::format("All CPUs of the machine were busy for {} in the mean, {} at most.",
                  format_share(share->mean()), format_share(share->high()));
  std::string counts;
  for (std::size_t i = 0; i < CpuSpikes::levels.size(); ++i) {
    const double level = CpuSpikes::levels[i];
    busy += fmt::format("{}{} or more for {} of the time", i == 0 ? " They were at " : ", ",
                        level_text(level), format_share(system.busy_s[i] / system.seconds));
    counts += fmt::format("{}{} at {} or more", i == 0 ? "" : ", ", system.spikes.count(level),
                          level_text(level));
  }
  std::string html = paragraph(busy + '.') + paragraph("Spikes: " + counts + '.');
  PageTable table{
      .headings = {"from (UTC)", "processes and their cores", "level", "lasted", "mean", "most"},
      .text_columns = 2};
  for (const monitor::CpuSpike& spike : system.spikes.spikes())
    table.rows.push_back({shown_utc(static_cast<double>(spike.unix_ms) / 1e3),
                          processes_text(spike), level_text(spike.level),
                          monitor::format_seconds(spike.length_s), format_share(spike.mean),
                          format_share(spike.peak)});
  html += to_html(table);
  if (system.spikes.count(CpuSpikes::levels.front()) > table.rows.size())
    html += paragraph("Those with the least CPU time are left out of the table.", "faint");
  return section("CPU spikes", html);
}

}  // namespace headrace::inline v1::app
