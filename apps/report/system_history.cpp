#include <headrace/apps/figures/no_value.h>
#include <headrace/apps/report/system_history.h>
#include <headrace/apps/terminal/utc.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {
namespace {

constexpr double gap_s = 60.0;  // samples further apart are not joined
constexpr std::size_t most_gpus = 16;
constexpr std::size_t most_names = 20;
constexpr std::array plain_curves{"machine_share",
                                  "process_share",
                                  "iowait_share",
                                  "steal_share",
                                  "memory_held_bytes",
                                  "memory_resident_bytes",
                                  "cgroup_usage_bytes",
                                  "pressure_cpu_share",
                                  "pressure_memory_share",
                                  "pressure_io_share",
                                  "read_bytes_per_s",
                                  "disk_read_bytes_per_s",
                                  "threads",
                                  "open_files"};
constexpr std::array gpu_curves{"busy_share",    "sm_active_share", "memory_used_bytes",
                                "temperature_c", "power_w",         "sm_clock_mhz"};
constexpr std::array allocator_curves{"allocated_bytes", "reserved_bytes", "inactive_split_bytes"};

// Seconds that a column has of each phase.
struct PhaseCell {
  std::array<double, sample_phases.size()> seconds{};

  void merge(const PhaseCell& behind) {
    for (std::size_t i = 0; i < seconds.size(); ++i)
      seconds[i] += behind.seconds[i];
  }
  // The phase that most of it was; nothing without one.
  std::optional<std::size_t> phase() const {
    const auto most = std::max_element(seconds.begin(), seconds.end());
    if (!(*most > 0.0)) return std::nullopt;
    return static_cast<std::size_t>(most - seconds.begin());
  }
};

// Whether a GPU's clocks were held down in a column.
struct HeldCell {
  bool held = false;
  void merge(const HeldCell& behind) { held = held || behind.held; }
};

// The lines are taken apart here and not by monitor's read_system_line: a key that is absent or
// holds something else is a gap in a curve, not 0, and a line is parsed once.

// Objects of a list; none where it is no list.
const nlohmann::json& list_in(const nlohmann::json& sample, const char* name) {
  static const nlohmann::json nothing = nlohmann::json::array();
  const auto found = sample.find(name);
  return found != sample.end() && found->is_array() ? *found : nothing;
}

bool is_true(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

class SystemReader {
 public:
  void take(const nlohmann::json& sample) {
    const double at =
        clock_.place(number_in(sample, "at_s", no_value), parse_utc(text_in(sample, "time")));
    if (!std::isfinite(at)) return;
    if (seen_++ == 0) history_.first = at;
    at_ = history_.last = at;
    interval_ = std::clamp(number_in(sample, "interval_s", 1.0), 0.0, gap_s);
    facts(sample);
    for (const char* name : plain_curves)
      add(name, number_in(sample, name, no_value));
    add("memory_taken_bytes", number_in(sample, "memory_total_bytes", no_value) -
                                  number_in(sample, "memory_available_bytes", no_value));
    allocator(sample);
    disks_and_networks(sample);
    phase(sample);
    for (const nlohmann::json& gpu : list_in(sample, "gpus"))
      if (gpu.is_object()) add_gpu(gpu);
    busy(sample);
  }

  MachineHistory history(LineCount count) {
    history_.count = count;
    history_.pauses = clock_.pauses();
    spans();
    return std::move(history_);
  }

 private:
  void add(const std::string& name, double value) {
    if (!std::isfinite(value)) return;
    const auto [curve, is_new] =
        history_.curves.try_emplace(name, MachineHistory::columns, 0.25, gap_s);
    curve->second.add(at_, value);
  }

  void facts(const nlohmann::json& sample) {
    history_.cores = number_in(sample, "cores", history_.cores);
    history_.memory_total = number_in(sample, "memory_total_bytes", history_.memory_total);
    history_.cgroup_limit = number_in(sample, "cgroup_limit_bytes", history_.cgroup_limit);
    if (history_.no_gpu.empty()) history_.no_gpu = text_in(sample, "no_gpu");
  }

  void allocator(const nlohmann::json& sample) {
    const auto found = sample.find("allocator");
    if (found == sample.end() || !found->is_object()) return;
    for (const char* name : allocator_curves)
      add(std::string("allocator.") + name, number_in(*found, name, no_value));
  }

  void disks_and_networks(const nlohmann::json& sample) {
    for (const char* part : {"disks", "networks"}) {
      std::map<std::string, double> sums;
      bool idle = true;
      for (const nlohmann::json& one : list_in(sample, part)) {
        if (!one.is_object()) continue;
        idle = false;
        for (const char* name : {"read_bytes_per_s", "written_bytes_per_s", "received_bytes_per_s",
                                 "sent_bytes_per_s"})
          if (one.contains(name)) sums[name] += number_in(one, name, 0.0);
        if (one.contains("busy_share"))
          sums["busy_share"] = std::max(sums["busy_share"], number_in(one, "busy_share", 0.0));
      }
      for (const auto& [name, value] : sums) {
        const std::string curve = fmt::format("{}.{}", part, name);
        if (std::isfinite(value)) history_.curves.try_emplace(curve, nothing_done_);
        add(curve, value);
      }
      if (idle) rest(part);
    }
    nothing_done_.add(at_, 0.0);
  }

  // A disk or network that is not named did nothing.
  void rest(const std::string& part) {
    for (auto at = history_.curves.lower_bound(part + '.');
         at != history_.curves.end() && at->first.starts_with(part + '.'); ++at)
      at->second.add(at_, 0.0);
  }

  void phase(const nlohmann::json& sample) {
    PhaseCell& cell = phases_.at(at_);
    const std::string said = text_in(sample, "phase");
    if (said.empty()) return;
    const auto found = std::find(sample_phases.begin(), sample_phases.end(), said);
    const std::size_t place = found == sample_phases.end()
                                  ? sample_phases.size() - 1
                                  : static_cast<std::size_t>(found - sample_phases.begin());
    cell.seconds[place] += std::max(interval_, 1e-3);
  }

  void add_gpu(const nlohmann::json& sample) {
    const int index = static_cast<int>(std::clamp(number_in(sample, "index", 0.0), 0.0, 1e6));
    if (history_.gpus.size() >= most_gpus && !history_.gpus.contains(index)) return;
    GpuHistory& gpu = history_.gpus[index];
    if (gpu.name.empty()) gpu.name = text_in(sample, "name");
    gpu.memory_total = number_in(sample, "memory_total_bytes", gpu.memory_total);
    gpu.power_limit_w = number_in(sample, "power_limit_w", gpu.power_limit_w);
    for (const char* name : gpu_curves)
      add(fmt::format("gpu{}.{}", index, name), number_in(sample, name, no_value));
    HeldCell& cell = held_.try_emplace(index, MachineHistory::columns, 0.25).first->second.at(at_);
    for (const nlohmann::json& reason : list_in(sample, "throttled")) {
      if (!reason.is_string()) continue;
      const auto& word = reason.get_ref<const std::string&>();
      if (gpu.throttled_s.size() < most_names || gpu.throttled_s.contains(word))
        gpu.throttled_s[word] += interval_;
      cell.held = true;
    }
    for (const nlohmann::json& process : list_in(sample, "processes"))
      if (process.is_object()) add_other(process, gpu);
  }

  static void add_other(const nlohmann::json& process, GpuHistory& gpu) {
    if (!process.contains("ours") || is_true(process, "ours")) return;
    const std::string name = text_in(process, "name");
    if (gpu.others_bytes.size() >= most_names && !gpu.others_bytes.contains(name)) return;
    double& most = gpu.others_bytes[name];
    most = std::max(most, number_in(process, "memory_bytes", 0.0));
  }

  void busy(const nlohmann::json& sample) {
    const double share = std::clamp(number_in(sample, "machine_share", no_value), 0.0, 1.0);
    if (!std::isfinite(share)) return;
    history_.seconds += interval_;
    for (std::size_t i = 0; i < history_.busy_s.size(); ++i)
      if (share >= monitor::CpuSpikes::levels[i]) history_.busy_s[i] += interval_;
    // Two samples at rest end a spike, and so does a gap: a run that was stopped, say.
    constexpr double longest_gap_s = 30.0;
    if (at_ - interval_ - busy_at_ > longest_gap_s)
      for (int i = 0; i < 2; ++i)
        history_.spikes.add({.at_s = busy_at_});
    busy_at_ = at_;
    history_.spikes.add(
        {.at_s = at_,
         .unix_ms = static_cast<std::int64_t>(std::clamp(1e3 * clock_.now(), 0.0, 1e15)),
         .interval_s = interval_,
         .machine_share = share,
         .busiest = busiest(sample)});
  }

  static std::vector<monitor::ProcessUsage> busiest(const nlohmann::json& sample) {
    std::vector<monitor::ProcessUsage> busiest;
    for (const nlohmann::json& process : list_in(sample, "busiest")) {
      if (!process.is_object() || busiest.size() == most_names) continue;
      busiest.push_back(
          {.pid = static_cast<int>(std::clamp(number_in(process, "pid", 0.0), 0.0, 1e9)),
           .name = text_in(process, "name"),
           .cores = number_in(process, "cores", 0.0),
           .ours = is_true(process, "ours")});
    }
    return busiest;
  }

  void spans() {
    const auto& cells = phases_.cells();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const double from = phases_.begin_of(i);
      const double to = std::min(phases_.begin_of(i + 1), history_.last);
      if (const auto phase = cells[i].phase())
        join(history_.phases,
             {.from = from, .to = to, .title = sample_phases[*phase], .colour = *phase}, gap_s);
    }
    for (const auto& [index, columns] : held_)
      strips(columns, history_.gpus[index].throttled);
  }

  void strips(const Columns<HeldCell>& columns, std::vector<ChartSpan>& strips) const {
    const auto& cells = columns.cells();
    for (std::size_t i = 0; i < cells.size(); ++i)
      if (cells[i].held)
        join(strips,
             {.from = columns.begin_of(i),
              .to = std::min(columns.begin_of(i + 1), history_.last),
              .title = "clocks held down",
              .colour = 7,
              .strip = true},
             2.0 * interval_);
  }

  // Cells between two samples have none; what lies there is what was before.
  static void join(std::vector<ChartSpan>& spans, ChartSpan span, double gap) {
    const bool follows = !spans.empty() && span.from - spans.back().to < gap;
    if (follows) spans.back().to = span.from;
    if (follows && spans.back().colour == span.colour)
      spans.back().to = span.to;
    else
      spans.push_back(std::move(span));
  }

  MachineHistory history_;
  ThinCurve nothing_done_{MachineHistory::columns, 0.25, gap_s};  // 0 in each sample so far
  Columns<PhaseCell> phases_{MachineHistory::columns, 0.25};
  std::map<int, Columns<HeldCell>> held_;  // by GPU
  SampleClock clock_;
  double at_ = 0.0;
  double interval_ = 1.0;
  double busy_at_ = 0.0;
  std::uint64_t seen_ = 0;
};

}  // namespace

const ThinCurve* MachineHistory::curve(const std::string& name) const {
  const auto found = curves.find(name);
  return found == curves.end() ? nullptr : &found->second;
}

MachineHistory read_system(const std::filesystem::path& file) {
  SystemReader reader;
  const LineCount count =
      for_each_object(file, [&reader](const nlohmann::json& sample) { reader.take(sample); });
  return reader.history(count);
}

}  // namespace headrace::inline v1::app
