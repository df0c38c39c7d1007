#include <headrace/engine/base/internal/proc_files.h>
#include <headrace/monitor/system/detail/pressure_meter.h>
#include <headrace/monitor/system/detail/proc_stat.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace headrace::inline v1::monitor::detail {
namespace {

double share(const std::optional<std::uint64_t>& now, const std::optional<std::uint64_t>& before,
             double interval_s) {
  if (!now || !before || !(interval_s > 0)) return 0.0;
  return std::min(1.0, static_cast<double>(grown(*now, *before)) * 1e-6 / interval_s);
}

}  // namespace

// "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000", and the same for "full".
Stalls read_stalls(const std::filesystem::path& file) {
  Stalls stalls;
  const auto text = headrace::detail::read_small_file(file);
  if (!text) return stalls;
  for (const std::string_view line : headrace::detail::split_lines(*text)) {
    const auto place = line.find("total=");
    if (place == std::string_view::npos) continue;
    const auto value = headrace::detail::to_number(line.substr(place + 6));
    if (!value || *value < 0) continue;
    if (line.starts_with("some")) stalls.some_us = static_cast<std::uint64_t>(*value);
    if (line.starts_with("full")) stalls.full_us = static_cast<std::uint64_t>(*value);
  }
  return stalls;
}

PressureMeter::PressureMeter(std::filesystem::path root) : root_(std::move(root)), last_(read()) {}

PressureMeter::Reading PressureMeter::read() const {
  const std::filesystem::path folder = root_ / "proc/pressure";
  return {.cpu = read_stalls(folder / "cpu"),
          .memory = read_stalls(folder / "memory"),
          .io = read_stalls(folder / "io")};
}

std::optional<Pressure> PressureMeter::sample(double interval_s) {
  const Reading before = std::exchange(last_, read());
  if (!last_.cpu.some_us && !last_.memory.some_us && !last_.io.some_us) return std::nullopt;
  return Pressure{
      .cpu_some = share(last_.cpu.some_us, before.cpu.some_us, interval_s),
      .memory_some = share(last_.memory.some_us, before.memory.some_us, interval_s),
      .memory_full = share(last_.memory.full_us, before.memory.full_us, interval_s),
      .io_some = share(last_.io.some_us, before.io.some_us, interval_s),
      .io_full = share(last_.io.full_us, before.io.full_us, interval_s),
  };
}

}  // namespace headrace::inline v1::monitor::detail
