#include <headrace/apps/plot/line_chart.h>
#include <headrace/apps/plot/look.h>
#include <headrace/apps/watch/watch_plot.h>

#include <algorithm>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr int width = 1200;
constexpr int chart_height = 300;
constexpr double edge = 8.0;

void add_curve(LineChart& chart, const SystemHistory& history, Curve curve, const char* name,
               Colour colour) {
  if (!history.has(curve)) return;
  std::vector<double> values = history.values(curve);
  for (double& value : values)
    value *= 100.0;
  chart.series.push_back(
      {.values = std::move(values), .colour = colour, .name = name, .thickness = 1.6});
}

LineChart empty_chart(const SystemHistory& history, std::string title) {
  return {.title = std::move(title),
          .below = std::string(history.unit()),
          .range = Range{.low = 0.0, .high = 100.0}};
}

// The darker the higher: 70, 80, 90 %.
void shade_spikes(LineChart& chart, const Findings& findings) {
  const double unit_s = findings.history().unit_s();
  for (const monitor::CpuSpike& spike : findings.spikes().spikes()) {
    const double paler = spike.level >= 0.9 ? 0.70 : spike.level >= 0.8 ? 0.80 : 0.88;
    chart.bands.push_back({.from = spike.start_s / unit_s + 0.5,
                           .to = (spike.start_s + spike.length_s) / unit_s + 0.5,
                           .colour = look::orange.paler(paler)});
  }
}

std::vector<LineChart> charts_of(const std::string& title, const Findings& findings) {
  const SystemHistory& history = findings.history();
  std::vector<LineChart> charts;
  LineChart& cpu = charts.emplace_back(empty_chart(history, fmt::format("{}: CPU, %", title)));
  add_curve(cpu, history, Curve::machine, "all CPUs", look::orange);
  add_curve(cpu, history, Curve::tree, "watched, of its cores", look::blue);
  shade_spikes(cpu, findings);
  if (!cpu.bands.empty()) cpu.title += ", spikes shaded";
  LineChart& memory = charts.emplace_back(empty_chart(history, "memory in use, %"));
  add_curve(memory, history, Curve::memory, "RAM", look::orange);
  add_curve(memory, history, Curve::gpu_memory, "VRAM", look::blue);
  if (history.has(Curve::gpu_busy)) {
    LineChart& gpu = charts.emplace_back(empty_chart(history, "GPU busy, % of the time"));
    add_curve(gpu, history, Curve::gpu_busy, "", look::blue);
  }
  return charts;
}

}  // namespace

std::vector<std::byte> watch_png(const std::string& title, const Findings& findings) {
  if (findings.history().places() < 2) return {};
  const std::vector<LineChart> charts = charts_of(title, findings);
  Canvas canvas(width, chart_height * static_cast<int>(charts.size()));
  for (std::size_t i = 0; i < charts.size(); ++i)
    draw(canvas,
         {.left = edge,
          .top = edge + static_cast<double>(chart_height) * static_cast<double>(i),
          .width = width - 2.0 * edge,
          .height = chart_height - edge},
         charts[i]);
  return canvas.png();
}

}  // namespace headrace::inline v1::app
