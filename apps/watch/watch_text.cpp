#include <headrace/apps/terminal/table.h>
#include <headrace/apps/terminal/text_width.h>
#include <headrace/apps/terminal/utc.h>
#include <headrace/apps/watch/remarks.h>
#include <headrace/apps/watch/watch_text.h>
#include <headrace/monitor/format.h>
#include <headrace/monitor/system/status_line.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

using monitor::format_bytes;
using monitor::format_seconds;
using monitor::format_share;
using monitor::ProcessUsage;
using monitor::ShareSpread;
using monitor::SystemSample;

constexpr std::size_t most_spikes = 10;  // that are listed

std::string plural(std::size_t count, const char* one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string named(const ProcessUsage& process) {
  return fmt::format("{} {}{}", process.name, process.pid, process.ours ? " (watched)" : "");
}

// As many as fit, in any case the first.
std::string busiest_line(const std::vector<ProcessUsage>& processes, std::size_t columns) {
  std::string text = "busiest: ";
  for (std::size_t i = 0; i < std::min<std::size_t>(5, processes.size()); ++i) {
    const std::string one =
        fmt::format("{}{} {:.2f}", i > 0 ? ", " : "", named(processes[i]), processes[i].cores);
    if (i > 0 && text_width(text) + text_width(one) > columns) break;
    text += one;
  }
  return text;
}

std::string tree_words(const SystemSample& sample) {
  const monitor::TreeUse& tree = sample.tree;
  std::string text = fmt::format(
      "{:.2f} of {} cores, {}, {}, {}", tree.cores, sample.cores, format_bytes(tree.resident),
      tree.processes == 1 ? "1 process" : fmt::format("{} processes", tree.processes),
      plural(tree.threads, "thread"));
  if (tree.reads_told)
    text += fmt::format(", reads {}/s", format_bytes(static_cast<std::uint64_t>(tree.read_per_s)));
  return text;
}

std::string head(const WatchTarget& target, const WatchFindings& findings, double own_cpu_s) {
  std::string text =
      fmt::format("watched {} for {}, {}", target.words, format_seconds(findings.seconds()),
                  plural(findings.samples(), "sample"));
  if (findings.seconds() > 0.0)
    text +=
        fmt::format("; watching took {} of a core", format_share(own_cpu_s / findings.seconds()));
  text += '\n';
  if (target.has_process() && findings.seconds() > 0.0)
    text += fmt::format("its processes used {} of CPU ({:.2f} of {} cores) and at most {}\n",
                        format_seconds(findings.tree_cpu_s()),
                        findings.tree_cpu_s() / findings.seconds(), findings.last().cores,
                        format_bytes(findings.tree_peak()));
  return text;
}

void add_row(Table& table, const char* name, const std::optional<ShareSpread>& spread,
             const std::string& of = "") {
  if (!spread) return;
  table.row({name, format_share(spread->mean), format_share(spread->p50), format_share(spread->p90),
             format_share(spread->p99), format_share(spread->most), of});
}

std::string statistics_of(const WatchFindings& findings) {
  const monitor::UsageStatistics statistics = findings.statistics();
  Table table(
      {{"", Align::left}, {"mean"}, {"p50"}, {"p90"}, {"p99"}, {"most"}, {"of", Align::left}});
  add_row(table, "CPU", statistics.cpu, "all CPUs");
  add_row(table, "CPU, watched", statistics.process, plural(findings.last().cores, "core"));
  add_row(table, "RAM", statistics.memory, format_bytes(statistics.memory_total));
  add_row(table, "GPU busy", statistics.gpu_busy, "the time");
  add_row(table, "VRAM", statistics.gpu_memory, format_bytes(statistics.gpu_memory_total));
  add_row(table, "waits for storage", statistics.io_pressure, "the time");
  std::string text = table.text();
  if (!findings.last().no_gpu.empty()) text += fmt::format("no GPU: {}\n", findings.last().no_gpu);
  return text;
}

// Its processes stand in rows of their own behind the first.
void add_spike(Table& table, const monitor::CpuSpike& spike) {
  std::vector<std::string> cells{clock_utc(static_cast<double>(spike.unix_ms) / 1e3),
                                 format_seconds(spike.length_s), format_share(spike.level),
                                 format_share(spike.mean), format_share(spike.peak)};
  for (std::size_t i = 0; i < std::min<std::size_t>(spike.busiest.size(), 3); ++i) {
    const ProcessUsage& process = spike.busiest[i];
    cells.resize(5);
    cells.insert(cells.end(), {fmt::format("{:.2f}", process.cores), named(process)});
    table.row(std::exchange(cells, {}));
  }
  if (!cells.empty()) table.row(cells);
}

std::string spikes_of(const WatchFindings& findings) {
  const monitor::CpuSpikes& spikes = findings.spikes();
  std::vector<monitor::CpuSpike> list = spikes.spikes();
  if (list.empty()) return "no CPU spikes: nowhere two samples in a row at 70 % or more\n";
  std::string text = fmt::format("CPU spikes: {} at 70 % or more, {} at 80 %, {} at 90 %\n",
                                 spikes.count(0.70), spikes.count(0.80), spikes.count(0.90));
  std::ranges::stable_sort(list, std::ranges::greater{}, [](const monitor::CpuSpike& spike) {
    return spike.mean * spike.length_s;
  });
  if (list.size() > most_spikes) list.resize(most_spikes);
  std::ranges::sort(list, {}, &monitor::CpuSpike::start_s);
  Table table({{"begin, UTC"},
               {"length"},
               {"level"},
               {"mean"},
               {"peak"},
               {"cores"},
               {"busiest", Align::left}});
  for (const monitor::CpuSpike& spike : list)
    add_spike(table, spike);
  return text + table.text(2);
}

// The watched ones together stand first: those of them that come and go between two looks are in no
// list.
std::string processes_of(const WatchTarget& target, const WatchFindings& findings) {
  const std::vector<ProcessUsage> busiest = findings.processes().busiest();
  Table table({{"cores"}, {"busiest processes", Align::left}});
  if (target.has_process())
    table.row({fmt::format("{:.2f}", findings.tree_cpu_s() / findings.seconds()),
               "all that are watched"});
  for (const ProcessUsage& process : busiest)
    table.row({fmt::format("{:.2f}", process.cores), named(process)});
  return table.empty() ? std::string() : table.text();
}

}  // namespace

std::vector<std::string> watch_lines(const WatchTarget& target, const WatchFindings& findings,
                                     std::size_t columns) {
  const SystemSample& sample = findings.last();
  std::vector<std::string> lines{monitor::status_line(sample, columns)};
  if (target.has_process())
    lines.push_back(fmt::format("{}: {}", target.words, tree_words(sample)));
  const auto busiest = findings.processes().busiest();
  if (!busiest.empty()) lines.push_back(busiest_line(busiest, columns));
  const auto spikes = findings.spikes().count(0.70);
  lines.push_back(fmt::format("{} watched, {}{}", format_seconds(findings.seconds()),
                              plural(spikes, "CPU spike"),
                              findings.spikes().lasts() ? ", the last one lasts" : ""));
  for (std::string& line : lines)
    line = clean_text(line, columns);
  return lines;
}

std::string watch_line(const WatchTarget& target, const WatchFindings& findings) {
  const SystemSample& sample = findings.last();
  std::string line = monitor::status_line(sample);
  if (target.has_process()) line += fmt::format(" | {}: {}", target.words, tree_words(sample));
  return line;
}

std::string watch_report(const WatchTarget& target, const WatchFindings& findings, double own_cpu_s,
                         std::size_t columns) {
  if (findings.samples() == 0)
    return fmt::format("watched {}: no sample was taken\n", target.words);
  std::string text = head(target, findings, own_cpu_s);
  for (const std::string& part :
       {statistics_of(findings), spikes_of(findings), processes_of(target, findings)})
    if (!part.empty()) text += '\n' + part;
  const auto machine = findings.machine();
  std::vector<std::string> sentences;
  if (machine)
    sentences = remarks({.statistics = findings.statistics(),
                         .machine = *machine,
                         .gpu = findings.gpu(),
                         .watches_process = target.has_process()});
  if (!sentences.empty()) text += '\n';
  for (const std::string& sentence : sentences)
    for (const std::string& line : folded("- " + sentence, columns))
      text += line + '\n';
  return clean_message(text);
}

}  // namespace headrace::inline v1::app
