#include <headrace/apps/report/page.h>
#include <headrace/apps/report/report_sections.h>
#include <headrace/apps/report/utc.h>
#include <headrace/monitor/format.h>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

std::string level_text(double peak) {
  if (peak > 0.9) return "over 90 %";
  return peak > 0.8 ? "over 80 %" : "over 70 %";
}

std::string processes_text(const CpuSpike& spike) {
  std::string text;
  for (const SpikeProcess& process : spike.processes)
    text += fmt::format("{}{} {:.1f}{}", text.empty() ? "" : ", ", process.name, process.cores,
                        process.ours ? " (of the run)" : "");
  return text;
}

}  // namespace

std::string report_spikes(const SystemHistory& system) {
  const CpuSpikes& spikes = system.spikes;
  if (spikes.seconds() <= 0.0) return {};
  std::string text =
      fmt::format("All CPUs of the machine were busy for {} in the mean, {} at most.",
                  monitor::format_share(spikes.mean_share()), monitor::format_share(spikes.peak()));
  for (std::size_t i = 0; i < CpuSpikes::levels.size(); ++i)
    text += fmt::format("{} over {:.0f} % for {} of the time", i == 0 ? " They were" : ",",
                        100.0 * CpuSpikes::levels[i],
                        monitor::format_share(spikes.above()[i] / spikes.seconds()));
  std::string html = paragraph(text + '.');
  PageTable table{
      .headings = {"from (UTC)", "level", "processes and their cores", "lasted", "most"},
      .text_columns = 3};
  for (const CpuSpike& spike : spikes.spikes())
    table.rows.push_back({shown_utc(spike.from), level_text(spike.peak), processes_text(spike),
                          monitor::format_seconds(spike.to - spike.from),
                          monitor::format_share(spike.peak)});
  html += to_html(table);
  if (spikes.count() > table.rows.size())
    html += paragraph(fmt::format("{} spikes in all; those that were lower or shorter are left out",
                                  spikes.count()),
                      "faint");
  return section("CPU spikes", html);
}

}  // namespace headrace::inline v1::app
