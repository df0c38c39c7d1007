#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::monitor::detail {

/// A process as NVML lists it.
struct NvmlProcess {
  unsigned pid = 0;
  std::optional<std::uint64_t> memory{};  // bytes
};

/// Memory of a GPU, bytes.
struct NvmlMemory {
  std::uint64_t total = 0;
  std::uint64_t used = 0;
};

/// Figures of the multiprocessors' own counters between two calls.
struct NvmlActivity {
  std::optional<double> sm_active_share{};
  std::optional<double> pcie_received_per_s{};  // bytes
  std::optional<double> pcie_sent_per_s{};
};

enum class NvmlClock : unsigned { sm = 1, memory = 2 };

/// The functions of NVML that we use, found in a library at run time. Each may be missing, in which
/// case what it would tell is absent, as where it answers with an error. Not thread-safe.
class Nvml {
 public:
  using Device = void*;

  explicit Nvml(const std::string& library);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// Why there are no devices; empty: there are.
  const std::string& why_none() const { return why_none_; }
  const std::vector<Device>& devices() const { return devices_; }

  std::string name(Device device) const;
  std::string uuid(Device device) const;
  std::optional<double> busy_share(Device device) const;
  std::optional<NvmlMemory> memory(Device device) const;
  std::optional<double> temperature_c(Device device) const;
  std::optional<double> power_w(Device device) const;
  std::optional<double> power_limit_w(Device device) const;
  std::optional<double> clock_mhz(Device device, NvmlClock clock) const;
  std::optional<double> most_clock_mhz(Device device, NvmlClock clock) const;
  /// Bits of reasons why the clocks are lower than they could be.
  std::optional<std::uint64_t> clock_reasons(Device device) const;
  /// Bytes a second over 20 ms, which the call takes.
  std::optional<double> pcie_received_per_s(Device device) const;
  std::optional<double> pcie_sent_per_s(Device device) const;
  /// All that hold a context of CUDA or of graphics.
  std::vector<NvmlProcess> processes(Device device) const;

  /// Whether the device has counters of its multiprocessors (Hopper and later).
  bool counts_activity(std::size_t index) const { return counters_[index].after != nullptr; }
  /// Since the last call for this device; nothing where it has no such counters, and at the first
  /// call.
  NvmlActivity activity(std::size_t index);

 private:
  template <class... Arguments>
  int call(const char* function, Arguments... arguments) const;
  std::optional<double> figure(const char* function, Device device, double unit) const;
  template <class Info>
  bool add_processes(const char* function, Device device, std::vector<NvmlProcess>& list) const;
  void add_processes_of(const char* kind, Device device, std::vector<NvmlProcess>& list) const;
  std::string text(const char* function, Device device) const;
  void open_devices();
  void start_activity();
  NvmlActivity activity_between(void* before, void* after) const;

  void* library_ = nullptr;
  bool started_ = false;
  std::string why_none_;
  std::vector<Device> devices_;
  // Of each device two samples of its counters; null: it has none.
  struct Counters {
    void* before = nullptr;
    void* after = nullptr;
    bool began = false;
  };
  std::vector<Counters> counters_;
};

}  // namespace headrace::inline v1::monitor::detail
