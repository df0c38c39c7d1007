#include <headrace/apps/measure/doctor/checks/checks.h>
#include <headrace/engine/base/internal/proc_files.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;
using headrace::detail::read_small_file;
using headrace::detail::to_number;
using monitor::Severity;

constexpr const char* node_folder = "sys/devices/system/node";

// CPUs of each node that has some.
std::map<int, std::vector<unsigned>> read_nodes(const fs::path& root) {
  std::map<int, std::vector<unsigned>> nodes;
  std::error_code error;
  for (fs::directory_iterator it(root / node_folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with("node")) continue;
    const auto number = to_number(std::string_view(name).substr(4));
    const auto cpus = numbers_of(read_small_file(it->path() / "cpulist").value_or(""));
    if (number && cpus && !cpus->empty()) nodes[static_cast<int>(*number)] = *cpus;
  }
  return nodes;
}

// Nodes that GPUs are attached to; nothing where none is, or the machine does not say.
std::set<int> gpu_nodes(const fs::path& root) {
  std::set<int> nodes;
  std::error_code error;
  for (fs::directory_iterator it(root / "proc/driver/nvidia/gpus", error), end; !error && it != end;
       it.increment(error)) {
    const fs::path device = root / "sys/bus/pci/devices" / it->path().filename();
    const auto node = to_number(read_small_file(device / "numa_node").value_or(""));
    if (node && *node >= 0) nodes.insert(static_cast<int>(*node));
  }
  return nodes;
}

std::string bound_to(int node) {
  return fmt::format("numactl --cpunodebind={0} --membind={0} headrace train ...", node);
}

Finding span_finding(const std::map<int, std::vector<unsigned>>& nodes, const std::set<int>& used,
                     const std::set<int>& of_gpu) {
  Finding finding{.what = "NUMA",
                  .found = fmt::format("this process may run on {} of {} node{}", used.size(),
                                       nodes.size(), nodes.size() == 1 ? "" : "s")};
  if (!of_gpu.empty()) finding.found += fmt::format(", GPU at node {}", fmt::join(of_gpu, ", "));
  const bool near_gpu = of_gpu.empty() || std::any_of(of_gpu.begin(), of_gpu.end(), [&](int node) {
                          return used.contains(node);
                        });
  if (near_gpu && used.size() <= 1) return finding;
  finding.severity = near_gpu ? Severity::notice : Severity::warning;
  finding.wanted = of_gpu.empty() ? "one node" : "the GPU's node";
  finding.way_out = bound_to(of_gpu.empty() ? *used.begin() : *of_gpu.begin());
  if (near_gpu) finding.way_out += ", where that node's cores are enough";
  return finding;
}

}  // namespace

std::optional<std::vector<unsigned>> numbers_of(std::string_view list) {
  std::vector<unsigned> numbers;
  while (!list.empty() && (list.back() == '\n' || list.back() == ' '))
    list.remove_suffix(1);
  const auto take = [&list](unsigned& number) {
    const auto [end, error] = std::from_chars(list.data(), list.data() + list.size(), number);
    list.remove_prefix(static_cast<std::size_t>(end - list.data()));
    return error == std::errc{};
  };
  constexpr unsigned most = 1U << 16;
  while (!list.empty()) {
    unsigned first = 0;
    if (!take(first)) return std::nullopt;
    unsigned last = first;
    if (list.starts_with('-')) {
      list.remove_prefix(1);
      if (!take(last) || last < first) return std::nullopt;
    }
    if (last >= most) return std::nullopt;
    for (unsigned number = first; number <= last; ++number)
      numbers.push_back(number);
    if (!list.empty() && !list.starts_with(',')) return std::nullopt;
    if (!list.empty()) list.remove_prefix(1);
  }
  return numbers;
}

void check_numa(const EnvironmentOptions& options, const EnvironmentFacts& facts,
                Findings& findings) {
  const auto nodes = read_nodes(options.root);
  if (nodes.empty() || facts.affinity.empty()) {
    findings.push_back(unknown("NUMA", nodes.empty() ? fmt::format("{} shows no node", node_folder)
                                                     : "the affinity is not known"));
    return;
  }
  std::set<int> used;
  for (const auto& [node, cpus] : nodes)
    for (const unsigned cpu : facts.affinity)
      if (std::find(cpus.begin(), cpus.end(), cpu) != cpus.end()) used.insert(node);
  if (used.empty()) {
    findings.push_back(unknown("NUMA", "no node has the CPUs that this process may use"));
    return;
  }
  findings.push_back(span_finding(nodes, used, gpu_nodes(options.root)));
}

}  // namespace headrace::inline v1::app
