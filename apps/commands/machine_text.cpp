#include <headrace/apps/commands/machine_text.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

namespace headrace::inline v1::app {
namespace {

using nlohmann::json;

std::optional<double> number(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::string word(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string per_cent(double share) {
  return fmt::format("{:.0f} %", 100.0 * share);
}

// "12.3/24.0 GB"
std::string of_all(double used, double all) {
  return fmt::format("{:.1f}/{:.1f} GB", used * 1e-9, all * 1e-9);
}

void add_gpu(const json& gpu, bool several, std::vector<std::string>& parts) {
  const std::string which =
      several && number(gpu, "index") ? fmt::format(" {:.0f}", *number(gpu, "index")) : "";
  std::string text;
  if (const auto busy = number(gpu, "busy_share")) text = per_cent(*busy);
  if (const auto degrees = number(gpu, "temperature_c"))
    text += fmt::format("{}{:.0f} °C", text.empty() ? "" : " ", *degrees);
  if (!text.empty()) parts.push_back(fmt::format("GPU{}: {}", which, text));
  const auto used = number(gpu, "memory_used_bytes");
  const auto all = number(gpu, "memory_total_bytes");
  if (used && all && *all > 0.0)
    parts.push_back(
        fmt::format("VRAM{}: {} ({})", which, of_all(*used, *all), per_cent(*used / *all)));
}

json object_of(std::string_view line) {
  json object = json::parse(line, nullptr, false);
  return object.is_object() ? object : json::object();
}

}  // namespace

std::string machine_text(std::string_view line) {
  const json object = object_of(line);
  std::vector<std::string> parts;
  if (const auto gpus = object.find("gpus"); gpus != object.end() && gpus->is_array())
    for (const json& gpu : *gpus)
      add_gpu(gpu, gpus->size() > 1, parts);
  if (const auto machine = number(object, "machine_share")) {
    std::string text = "CPU: " + per_cent(*machine);
    if (const auto own = number(object, "process_cores"))
      text += fmt::format(" (run {:.1f} cores)", *own);
    parts.push_back(text);
  }
  const auto all = number(object, "memory_total_bytes");
  const auto available = number(object, "memory_available_bytes");
  if (all && available) {
    std::string text = "RAM: " + of_all(*all - *available, *all);
    if (const auto held = number(object, "memory_held_bytes"))
      text += fmt::format(" (run {:.1f} GB)", *held * 1e-9);
    parts.push_back(text);
  }
  return fmt::format("{}", fmt::join(parts, " | "));
}

std::string busiest_text(std::string_view line) {
  const json object = object_of(line);
  const auto busiest = object.find("busiest");
  if (busiest == object.end() || !busiest->is_array()) return {};
  std::vector<std::string> parts;
  for (const json& process : *busiest) {
    if (!process.is_object() || !number(process, "cores")) continue;
    const auto ours = process.find("ours");
    const bool other = ours == process.end() || *ours != true;
    parts.push_back(fmt::format("{} {:.1f}{}", word(process, "name"), *number(process, "cores"),
                                other ? " (not of the run)" : ""));
  }
  return parts.empty() ? "" : fmt::format("busiest, cores: {}", fmt::join(parts, ", "));
}

std::string process_text(std::int64_t pid) {
  std::ifstream stream(fmt::format("/proc/{}/stat", pid));
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream words(text.substr(name_end + 1));
  const std::vector<std::string> fields(std::istream_iterator<std::string>(words), {});
  if (fields.size() < 22) return {};
  const auto at = [&fields](std::size_t field) {
    return std::strtod(fields[field].c_str(), nullptr);
  };
  const double ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  double up_s = 0.0;
  std::ifstream("/proc/uptime") >> up_s;
  const double age_s = up_s - at(19) / ticks;
  const double cpu_s = (at(11) + at(12)) / ticks;
  const double resident = at(21) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  return fmt::format("process: {:.1f} cores since it began | {} resident | {:.0f} threads",
                     age_s > 0.0 ? cpu_s / age_s : 0.0,
                     monitor::format_bytes(static_cast<std::uint64_t>(std::max(resident, 0.0))),
                     at(17));
}

}  // namespace headrace::inline v1::app
