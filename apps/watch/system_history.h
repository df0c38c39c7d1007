#pragma once

#include <headrace/monitor/system/system_sample.h>

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

namespace headrace::inline v1::app {

/// What is drawn over time.
enum class Curve : std::size_t { machine, tree, memory, gpu_busy, gpu_memory };

/// Shares over time as means a second, later a minute or an hour, so that the memory does not grow
/// with the time that is watched. Not thread-safe.
class SystemHistory {
 public:
  static constexpr std::size_t most_places = 7200;

  void add(const monitor::SystemSample& sample);

  /// A value a place along the time; not a number where no sample told it.
  std::vector<double> values(Curve curve) const;
  bool has(Curve curve) const;
  /// The last place counts once a tenth of it was seen.
  std::size_t places() const;
  /// Of a place, in seconds: 1, 60 or 3600.
  double unit_s() const { return unit_s_; }
  /// "seconds", "minutes", "hours"
  std::string_view unit() const;

 private:
  static constexpr std::size_t curves = 5;
  struct Mean {
    double sum = 0.0;
    double weight = 0.0;
  };
  using Place = std::array<Mean, curves>;

  void put(const monitor::SystemSample& sample, Curve curve, double value);
  void widen();

  double unit_s_ = 1.0;
  std::vector<Place> places_;
};

}  // namespace headrace::inline v1::app
