#pragma once

#include <headrace/engine/base/export.h>

#include <span>
#include <string_view>

namespace headrace::inline v1::monitor {

/// Numbers that the rules of advice compare with. What each is good for, and who found it, is in
/// advice_thresholds().
struct AdviceThresholds {
  double moderate_stall = 0.05;
  double high_stall = 0.20;
  double full_pool = 0.90;
  double spare_cpu = 0.70;
  double full_cpu = 0.90;
  double storage_pressure = 0.20;
  double from_storage = 0.50;
  double same_epoch = 0.95;
  double read_again = 1.2;
  double read_amplification = 4.0;
  double reorder_share = 0.25;
  double batch_spread = 0.15;
  double size_correlation = 0.50;
  double idle_gpu = 0.01;
  double starved_gpu = 0.30;
  double half_busy_gpu = 0.50;
  double busy_gpu = 0.90;
  double launch_wait = 0.15;
  double exposed_copy = 0.03;
  double gpu_temperature_c = 90.0;
  double host_cpu = 0.40;
  double busy_fall = 0.10;
  double other_cpu = 0.20;
  double queued = 0.10;
  double on_cpu = 0.05;
  double other_gpu_memory = 0.05;
  double open_files = 0.80;
  double low_readiness = 0.50;
  double good_readiness = 0.80;
  double growth = 0.0;
  double unused_reserved = 0.25;
  double nearly_full_gpu = 0.90;
  double half_empty_gpu = 0.50;
  double forecast = 1.0;
  double least_batches = 1.0;
  double above_majority = 0.05;
  double epochs_to_learn = 3.0;
  double time_budget = 1.0;
};

/// A number that rules compare with, as data.
struct AdviceThreshold {
  std::string_view name{};  ///< "moderate_stall"
  double AdviceThresholds::*value = nullptr;
  std::string_view of{};      ///< what is compared: "data wait / wall time of the steps"
  std::string_view source{};  ///< whose number it is; "ours" where nobody's
};

/// All of them, in the order of the struct.
HEADRACE_API std::span<const AdviceThreshold> advice_thresholds();

/// Sets one by its name. Throws ConfigError for a name that is not known, and for a value that is
/// negative or no number.
HEADRACE_API void set(AdviceThresholds& thresholds, std::string_view name, double value);

}  // namespace headrace::inline v1::monitor
