#include <headrace/apps/plot/chart_scale.h>
#include <headrace/apps/watch/watch_plot.h>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr int sheet_width = 1200;
constexpr int chart_height = 300;
constexpr double sheet_edge = 8.0;
constexpr std::size_t blue = 0;
constexpr std::size_t orange = 1;

class WatchCharts {
 public:
  WatchCharts(const std::string& title, const WatchFindings& findings)
      : findings_(findings), unit_(time_unit(findings.seconds())) {
    Chart& cpu = add("CPU");
    line(cpu, "machine", "all CPUs", orange);
    line(cpu, "tree", "watched, of its cores", blue);
    shade_spikes(cpu);
    cpu.unit += ": " + title;
    Chart& memory = add("memory in use");
    line(memory, "memory", "RAM", orange);
    line(memory, "gpu_memory", "VRAM", blue);
    if (findings.curve("gpu_busy") != nullptr)
      line(add("GPU busy, of the time"), "gpu_busy", "", blue);
  }

  std::vector<std::byte> png() const {
    Canvas canvas(sheet_width, chart_height * static_cast<int>(charts_.size()));
    for (std::size_t i = 0; i < charts_.size(); ++i)
      draw(canvas,
           {.left = sheet_edge,
            .top = sheet_edge + static_cast<double>(chart_height) * static_cast<double>(i),
            .width = sheet_width - 2.0 * sheet_edge,
            .height = chart_height - sheet_edge},
           charts_[i]);
    return canvas.png();
  }

 private:
  Chart& add(const std::string& title) {
    return charts_.emplace_back(Chart{
        .title = title, .unit = "%", .below = unit_.name, .low = 0.0, .high = 100.0, .from = 0.0});
  }

  void line(Chart& chart, const char* share, const char* name, std::size_t colour) const {
    const ThinCurve* curve = findings_.curve(share);
    if (curve == nullptr) return;
    ChartSeries& drawn =
        chart.series.emplace_back(series_of(*curve, 0.0, 1.0 / unit_.seconds, 100.0));
    drawn.name = name;
    drawn.colour = colour;
  }

  // Red from 90 %, orange from 80, amber from 70.
  void shade_spikes(Chart& chart) const {
    constexpr auto levels = monitor::CpuSpikes::levels;
    for (const monitor::CpuSpike& spike : findings_.spikes().spikes()) {
      const std::size_t colour = spike.level >= levels[2] ? 7 : spike.level >= levels[1] ? 1 : 5;
      chart.spans.push_back({.from = spike.start_s / unit_.seconds,
                             .to = (spike.start_s + spike.length_s) / unit_.seconds,
                             .colour = colour});
    }
    if (!chart.spans.empty()) chart.unit += ", spikes shaded";
  }

  const WatchFindings& findings_;
  TimeUnit unit_;
  std::vector<Chart> charts_;
};

}  // namespace

std::vector<std::byte> watch_png(const std::string& title, const WatchFindings& findings) {
  constexpr double least_s = 1.1;  // so that the second second says something
  if (findings.seconds() < least_s) return {};
  return WatchCharts(title, findings).png();
}

}  // namespace headrace::inline v1::app
