#include <headrace/apps/report/page.h>
#include <headrace/apps/report/report_sections.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

struct Line {
  const char* curve;
  const char* name;
};

class SystemCharts {
 public:
  explicit SystemCharts(const MachineHistory& system)
      : system_(system), unit_(time_unit(system.last - system.first)) {}

  std::string html() {
    cpu();
    memory();
    for (const auto& [index, gpu] : system_.gpus)
      add_gpu(index, gpu);
    add(bytes("In the GPU allocator's hands", "",
              {{"allocator.reserved_bytes", "reserved"},
               {"allocator.allocated_bytes", "in tensors"},
               {"allocator.inactive_split_bytes", "in pieces"}}));
    add(bytes("Read", " a second",
              {{"read_bytes_per_s", "asked for"},
               {"disk_read_bytes_per_s", "that storage had to give"}}));
    add(bytes("Disks", " a second",
              {{"disks.read_bytes_per_s", "read"}, {"disks.written_bytes_per_s", "written"}}));
    add(shares("Busiest disk", {{"disks.busy_share", "busy"}}));
    add(bytes(
        "Network", " a second",
        {{"networks.received_bytes_per_s", "received"}, {"networks.sent_bytes_per_s", "sent"}}));
    add(shares("Time in which some task waited (pressure)",
               {{"pressure_cpu_share", "for CPU"},
                {"pressure_io_share", "for storage"},
                {"pressure_memory_share", "for memory"}}));
    add(plain("Threads and open files", "",
              {{"threads", "threads"}, {"open_files", "open files"}}));
    return chart_grid(charts_);
  }

 private:
  double place(double at) const { return (at - system_.first) / unit_.seconds; }

  Chart chart(const std::string& title, const std::string& unit) const {
    Chart chart{.title = title,
                .unit = unit,
                .below = unit_.name,
                .low = 0.0,
                .from = 0.0,
                .to = place(system_.last)};
    constexpr std::array<std::size_t, sample_phases.size()> colours{0, 2, 5, 6};
    for (ChartSpan span : system_.phases) {
      if (span.colour == 0) continue;  // training is what is usual
      span.from = place(span.from);
      span.to = place(span.to);
      span.colour = colours[span.colour % colours.size()];
      chart.spans.push_back(std::move(span));
    }
    for (const SamplePause& pause : system_.pauses)
      chart.spans.push_back({.from = place(pause.at),
                             .to = place(pause.at + SampleClock::shown_pause_s),
                             .title = "no samples for " + monitor::format_seconds(pause.seconds),
                             .colour = 6,
                             .strip = true});
    return chart;
  }

  void lines(Chart& chart, const std::vector<Line>& lines, double factor,
             const std::string& before = {}) const {
    std::size_t colour = 0;
    for (const Line& line : lines) {
      if (const ThinCurve* curve = system_.curve(before + line.curve)) {
        ChartSeries& drawn = chart.series.emplace_back(
            series_of(*curve, system_.first, 1.0 / unit_.seconds, factor));
        drawn.name = line.name;
        drawn.colour = colour;
      }
      ++colour;
    }
  }

  Chart plain(const std::string& title, const std::string& unit,
              const std::vector<Line>& of) const {
    Chart made = chart(title, unit);
    lines(made, of, 1.0);
    return made;
  }

  Chart shares(const std::string& title, const std::vector<Line>& of,
               const std::string& before = {}) const {
    Chart made = chart(title, "%");
    lines(made, of, 100.0, before);
    return made;
  }

  double most(const std::vector<Line>& of, const std::string& before = {}) const {
    double most = 0.0;
    for (const Line& line : of)
      if (const ThinCurve* curve = system_.curve(before + line.curve))
        most = std::max(most, curve->high());
    return most;
  }

  Chart bytes(const std::string& title, const std::string& per, const std::vector<Line>& of,
              double limit = 0.0, const std::string& before = {}) const {
    const ByteScale scale = byte_scale(std::max(most(of, before), limit));
    Chart made = chart(title, scale.unit + per);
    lines(made, of, scale.factor, before);
    if (limit > 0.0) made.limits.push_back({.y = limit * scale.factor, .name = "all"});
    return made;
  }

  void cpu() {
    Chart made = shares("CPU", {{"machine_share", "machine"},
                                {"process_share", "run, of its cores"},
                                {"iowait_share", "idle, waits for storage"},
                                {"steal_share", "taken by the hypervisor"}});
    made.high = 100.0;
    if (made.series.empty()) return;
    constexpr auto levels = monitor::CpuSpikes::levels;
    for (const monitor::CpuSpike& spike : highest_spikes()) {
      const std::size_t colour = spike.level >= levels[2] ? 7 : spike.level >= levels[1] ? 1 : 5;
      made.marks.push_back({.x = place(spike.start_s + spike.length_s / 2.0),
                            .y = 100.0 * spike.peak,
                            .title = spike_text(spike),
                            .colour = colour});
    }
    add(made);
  }

  // As many as a chart has room for.
  std::vector<monitor::CpuSpike> highest_spikes() const {
    constexpr std::size_t most_marks = 30;
    std::vector<monitor::CpuSpike> spikes = system_.spikes.spikes();
    std::stable_sort(spikes.begin(), spikes.end(),
                     [](const auto& a, const auto& b) { return a.peak > b.peak; });
    spikes.resize(std::min(spikes.size(), most_marks));
    return spikes;
  }

  static std::string spike_text(const monitor::CpuSpike& spike) {
    std::string text = fmt::format("{} for {}", monitor::format_share(spike.peak),
                                   monitor::format_seconds(spike.length_s));
    for (const monitor::ProcessUsage& process : spike.busiest)
      text += fmt::format(", {} {:.1f} cores", process.name, process.cores);
    return text;
  }

  void memory() {
    const double limit = system_.cgroup_limit > 0.0 ? system_.cgroup_limit : system_.memory_total;
    add(bytes("Memory", "",
              {{"memory_held_bytes", "held by the process"},
               {"memory_resident_bytes", "resident, all its processes"},
               {"memory_taken_bytes", "taken on the machine"},
               {"cgroup_usage_bytes", "taken in its cgroup"}},
              limit));
  }

  void add_gpu(int index, const GpuHistory& gpu) {
    const std::string before = fmt::format("gpu{}.", index);
    const std::string name =
        fmt::format("GPU {}{}{}", index, gpu.name.empty() ? "" : ", ", gpu.name);
    Chart busy = shares(
        name + ": busy",
        {{"busy_share", "with a kernel"}, {"sm_active_share", "multiprocessors active"}}, before);
    busy.high = 100.0;
    add(busy);
    add(bytes(name + ": memory", "", {{"memory_used_bytes", "taken"}}, gpu.memory_total, before));
    Chart heat = chart(name + ": temperature", "°C");
    lines(heat, {{"temperature_c", "temperature"}}, 1.0, before);
    strips(heat, gpu);
    add(heat);
    Chart power = chart(name + ": power", "W");
    lines(power, {{"power_w", "power"}}, 1.0, before);
    if (gpu.power_limit_w > 0.0) power.limits.push_back({.y = gpu.power_limit_w, .name = "limit"});
    strips(power, gpu);
    add(power);
    Chart clock = chart(name + ": clock", "MHz");
    lines(clock, {{"sm_clock_mhz", "multiprocessors"}}, 1.0, before);
    strips(clock, gpu);
    add(clock);
  }

  void strips(Chart& chart, const GpuHistory& gpu) const {
    for (ChartSpan span : gpu.throttled) {
      span.from = place(span.from);
      span.to = place(span.to);
      chart.spans.push_back(std::move(span));
    }
  }

  void add(const Chart& chart) { charts_ += to_html(chart); }

  const MachineHistory& system_;
  TimeUnit unit_;
  std::string charts_;
};

std::string phase_key(const MachineHistory& system) {
  if (system.phases.empty()) return {};
  return "<p class=\"faint\">The ground is shaded where the run did not train: "
         "<span class=\"key\" style=\"--k:var(--c2)\">evaluate</span>, "
         "<span class=\"key\" style=\"--k:var(--c5)\">checkpoint</span>, "
         "<span class=\"key\" style=\"--k:var(--c6)\">other</span>.</p>\n";
}

std::string pauses_note(const MachineHistory& system) {
  if (system.pauses.empty()) return {};
  double seconds = 0.0;
  for (const SamplePause& pause : system.pauses)
    seconds += pause.seconds;
  const bool one = system.pauses.size() == 1;
  return paragraph(
      fmt::format("Nothing was sampled in {} pause{}, {} long{}: charts show {} of each.",
                  system.pauses.size(), one ? "" : "s", monitor::format_seconds(seconds),
                  one ? "" : " together", monitor::format_seconds(SampleClock::shown_pause_s)),
      "faint");
}

std::string gpu_notes(const MachineHistory& system) {
  std::string html;
  for (const auto& [index, gpu] : system.gpus) {
    for (const auto& [reason, seconds] : gpu.throttled_s)
      html += paragraph(fmt::format("GPU {}: clocks held down for {} ({})", index,
                                    monitor::format_seconds(seconds), reason),
                        "bad");
    for (const auto& [name, bytes] : gpu.others_bytes)
      html += paragraph(fmt::format("GPU {}: {}, which is not of this run, held {}", index, name,
                                    monitor::format_bytes(static_cast<std::uint64_t>(bytes))));
  }
  if (system.gpus.empty() && !system.no_gpu.empty())
    html += paragraph("No GPU: " + system.no_gpu, "faint");
  return html;
}

}  // namespace

std::string report_system(const MachineHistory& system) {
  if (system.count.lines == 0) return {};
  return section("The machine", gpu_notes(system) + pauses_note(system) + phase_key(system) +
                                    SystemCharts(system).html());
}

}  // namespace headrace::inline v1::app
