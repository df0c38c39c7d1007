#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Of `headrace train`.
struct TrainOptions {
  std::filesystem::path config{};
  std::vector<std::string> settings{};  ///< "a.b=c", later ones win
  std::filesystem::path resume{};       ///< a run folder; empty for a new run
  std::optional<int> member{};          ///< only this member, in this call
  bool dry_run = false;                 ///< check, forecast, and stop before the first step
  std::string log_level{};              ///< a word of run/log_level.h; empty: not given
};

/// Of `headrace predict`.
struct PredictOptions {
  /// Weights that a run has written, or its folder; several vote.
  std::vector<std::filesystem::path> checkpoints{};
  std::filesystem::path data{};
  std::filesystem::path output{};
  std::string device = "auto";
  int batch = 0;  ///< rows at once; 0: as in training
};

}  // namespace headrace::inline v1::app
