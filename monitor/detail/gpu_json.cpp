#include <headrace/monitor/detail/json_parts.h>

#include <vector>

namespace headrace::inline v1::monitor::detail {
namespace {

void put_figure(OrderedJson& object, const char* key, const std::optional<double>& value,
                int decimals) {
  if (value) object[key] = rounded(*value, decimals);
}

void put_bytes(OrderedJson& object, const char* key, const std::optional<double>& value) {
  if (value) object[key] = bytes(*value);
}

OrderedJson processes_of(const GpuSample& gpu) {
  OrderedJson list = OrderedJson::array();
  for (const GpuProcess& process : gpu.processes) {
    OrderedJson item{{"pid", process.pid}, {"name", process.name}};
    if (process.memory > 0) item["memory_bytes"] = process.memory;
    item["ours"] = process.ours;
    list.push_back(std::move(item));
  }
  return list;
}

OrderedJson object_of(const GpuSample& gpu) {
  OrderedJson object{{"index", gpu.index}, {"name", gpu.name}};
  put_figure(object, "busy_share", gpu.busy_share, 4);
  put_figure(object, "sm_active_share", gpu.sm_active_share, 4);
  if (gpu.memory_used) object["memory_used_bytes"] = *gpu.memory_used;
  if (gpu.memory_total) object["memory_total_bytes"] = *gpu.memory_total;
  put_figure(object, "temperature_c", gpu.temperature_c, 1);
  put_figure(object, "power_w", gpu.power_w, 1);
  put_figure(object, "power_limit_w", gpu.power_limit_w, 1);
  put_figure(object, "sm_clock_mhz", gpu.sm_clock_mhz, 0);
  put_figure(object, "most_sm_clock_mhz", gpu.most_sm_clock_mhz, 0);
  put_figure(object, "memory_clock_mhz", gpu.memory_clock_mhz, 0);
  put_bytes(object, "pcie_received_bytes_per_s", gpu.pcie_received_per_s);
  put_bytes(object, "pcie_sent_bytes_per_s", gpu.pcie_sent_per_s);
  if (!gpu.throttled.empty()) object["throttled"] = gpu.throttled;
  OrderedJson processes = processes_of(gpu);
  if (!processes.empty()) object["processes"] = std::move(processes);
  return object;
}

GpuSample gpu_of(const OrderedJson& object) {
  GpuSample gpu;
  put(gpu.index, object, "index");
  put(gpu.name, object, "name");
  put(gpu.busy_share, object, "busy_share");
  put(gpu.sm_active_share, object, "sm_active_share");
  put(gpu.memory_used, object, "memory_used_bytes");
  put(gpu.memory_total, object, "memory_total_bytes");
  put(gpu.temperature_c, object, "temperature_c");
  put(gpu.power_w, object, "power_w");
  put(gpu.power_limit_w, object, "power_limit_w");
  put(gpu.sm_clock_mhz, object, "sm_clock_mhz");
  put(gpu.most_sm_clock_mhz, object, "most_sm_clock_mhz");
  put(gpu.memory_clock_mhz, object, "memory_clock_mhz");
  put(gpu.pcie_received_per_s, object, "pcie_received_bytes_per_s");
  put(gpu.pcie_sent_per_s, object, "pcie_sent_bytes_per_s");
  const auto throttled = object.find("throttled");
  if (throttled != object.end() && throttled->is_array())
    for (const OrderedJson& reason : *throttled)
      if (reason.is_string()) gpu.throttled.push_back(reason.get<std::string>());
  for (const OrderedJson& item : items(object, "processes")) {
    GpuProcess& process = gpu.processes.emplace_back();
    put(process.pid, item, "pid");
    put(process.name, item, "name");
    put(process.memory, item, "memory_bytes");
    put(process.ours, item, "ours");
  }
  return gpu;
}

}  // namespace

std::vector<OrderedJson> items(const OrderedJson& object, const char* key) {
  std::vector<OrderedJson> list;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return list;
  for (const OrderedJson& item : *found)
    if (item.is_object()) list.push_back(item);
  return list;
}

void put_gpus(OrderedJson& line, const SystemSample& sample) {
  OrderedJson gpus = OrderedJson::array();
  for (const GpuSample& gpu : sample.gpus)
    gpus.push_back(object_of(gpu));
  if (!gpus.empty()) line["gpus"] = std::move(gpus);
  if (!sample.no_gpu.empty()) line["no_gpu"] = sample.no_gpu;
}

void read_gpus(SystemSample& sample, const OrderedJson& line) {
  for (const OrderedJson& item : items(line, "gpus"))
    sample.gpus.push_back(gpu_of(item));
  put(sample.no_gpu, line, "no_gpu");
}

}  // namespace headrace::inline v1::monitor::detail
