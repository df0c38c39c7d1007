#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// A process that was busy in a spike.
struct SpikeProcess {
  std::string name{};
  double cores = 0.0;  ///< the most
  bool ours = false;   ///< of the run
};

/// A time in which the machine's CPUs were busier than 70 %.
struct CpuSpike {
  double from = 0.0;  ///< seconds since 1970
  double to = 0.0;
  double peak = 0.0;                      ///< busy share
  std::vector<SpikeProcess> processes{};  ///< busiest first; at most five
};

/// Finds spikes in samples of the machine; memory does not grow with the run. Not thread-safe.
class CpuSpikes {
 public:
  static constexpr std::array levels{0.7, 0.8, 0.9};
  static constexpr std::size_t most_kept = 100;

  /// A sample over the `interval_s` that end at `at`, with who was busy where that was looked at.
  void add(double at, double interval_s, double share, const std::vector<SpikeProcess>& busiest);
  /// No more samples come.
  void end();

  std::uint64_t count() const { return count_; }
  /// By time; where there were more than most_kept, those that were highest and longest.
  std::vector<CpuSpike> spikes() const;
  /// Seconds above each level, and all that were looked at.
  const std::array<double, levels.size()>& above() const { return above_; }
  double seconds() const { return seconds_; }
  double mean_share() const { return seconds_ > 0.0 ? sum_ / seconds_ : 0.0; }
  double peak() const { return peak_; }

 private:
  struct Open {
    CpuSpike spike{};
    std::map<std::string, SpikeProcess> processes{};
  };

  void begin_or_go_on(double from, double at, double share);
  void close();

  bool open_ = false;
  Open now_;
  std::uint64_t count_ = 0;
  std::vector<CpuSpike> kept_;
  std::array<double, levels.size()> above_{};
  double seconds_ = 0.0;
  double sum_ = 0.0;
  double peak_ = 0.0;
};

}  // namespace headrace::inline v1::app
