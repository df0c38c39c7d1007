#pragma once

#include <headrace/monitor/system/system_sample.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace headrace::inline v1::monitor::detail {

/// Block devices over intervals: whole ones, not their parts, that were used since boot; no loop
/// and RAM devices. Not thread-safe.
class DiskMeter {
 public:
  explicit DiskMeter(std::filesystem::path root);

  /// Since the last call, or since construction, `interval_s` ago.
  std::vector<DiskUse> sample(double interval_s);

 private:
  struct Counters {
    std::uint64_t requests = 0;
    std::uint64_t read = 0;  // bytes
    std::uint64_t written = 0;
    std::uint64_t busy_ms = 0;
  };
  std::map<std::string, Counters> read();
  bool is_whole(const std::string& name);

  std::filesystem::path root_;
  std::map<std::string, bool> whole_;  // by name, as it was found
  std::map<std::string, Counters> last_;
};

/// Network interfaces over intervals: those that were used since boot, without the loopback. Not
/// thread-safe.
class NetworkMeter {
 public:
  explicit NetworkMeter(std::filesystem::path root);

  std::vector<NetworkUse> sample(double interval_s);

 private:
  using Counters = std::array<std::uint64_t, 2>;  // bytes received, sent
  std::map<std::string, Counters> read() const;

  std::filesystem::path root_;
  std::map<std::string, Counters> last_;
};

}  // namespace headrace::inline v1::monitor::detail
