#pragma once

#include <headrace/apps/view/step_range.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Of `headrace train`.
struct TrainOptions {
  std::filesystem::path config{};       ///< or a kind, where `data` are given
  std::filesystem::path data{};         ///< that a configuration is proposed for
  std::string preset{};                 ///< whose settings come before these; empty: none
  std::vector<std::string> settings{};  ///< "a.b=c", later ones win
  std::filesystem::path resume{};       ///< a run folder; empty for a new run
  std::optional<int> member{};          ///< only this member, in this call
  bool dry_run = false;                 ///< check, forecast, and stop before the first step
  bool require_goals = false;           ///< a goal that fails is the exit code, see ExitCode::goals
  std::int64_t smoke = 0;               ///< steps of a trial, see SmokeTrial; 0: a training
  /// Steps of the first stage that is trained, for trace.json.
  std::optional<StepRange> trace{};
  std::string log_level{};  ///< a word of run/log_level.h; empty: not given
};

/// Of `headrace profile-memory`.
struct ProfileMemoryOptions {
  std::filesystem::path config{};
  std::string preset{};                 ///< whose settings come before these; empty: none
  std::vector<std::string> settings{};  ///< "a.b=c", later ones win
  std::optional<std::int64_t> member{};
  std::string stage{};                  ///< only this one; empty: all
  std::int64_t batch = 0;               ///< in place of the configuration's; 0: that
  bool find_optimal = false;            ///< the largest batch and the fastest, tried with 50 steps
  bool switches = true;                 ///< what they would change is measured, too
  std::optional<std::uint64_t> card{};  ///< bytes of a card to be emulated
  std::filesystem::path json{};         ///< what was measured is written there; empty: not
  /// How it starts itself: measures in this process, without a word, and writes it there.
  std::filesystem::path measure{};
  int parent = 0;                    ///< who waits for that
  std::vector<std::int64_t> rows{};  ///< batch sizes; empty: by the configuration's
  std::uint64_t limit = 0;           ///< bytes of tensors; 0: no limit
  std::int64_t steps = 3;            ///< of the optimiser
};

/// Which weights work on data, and where.
struct EnsembleOptions {
  /// Weights that a run has written, or its folder; several vote.
  std::vector<std::filesystem::path> checkpoints{};
  std::string device = "auto";
  int batch = 0;  ///< rows at once; 0: as in training
};

/// Of `headrace predict`.
struct PredictOptions {
  EnsembleOptions ensemble{};
  std::filesystem::path data{};
  std::filesystem::path output{};  ///< a file for rows, a folder for masks and volumes
  bool overwrite = false;          ///< masks or volumes that are in the folder
  std::filesystem::path labels{};  ///< of volumes, to compare with; empty: those beside the images
  std::filesystem::path root{};    ///< of a list's paths; empty: as in training
};

/// Of `headrace evaluate`.
struct EvaluateOptions {
  EnsembleOptions ensemble{};
  std::filesystem::path data{};    ///< empty: the run's own
  std::filesystem::path root{};    ///< of a list's paths; empty: as in training
  std::string split{};             ///< a part of the data; empty: see Recipe::test_on()
  std::filesystem::path output{};  ///< JSON file; empty: none
  std::filesystem::path worst{};   ///< PNG file for the worst mistakes; empty: none
};

/// Of `headrace export`.
struct ExportOptions {
  std::filesystem::path run{};           ///< a run's folder, or a file of weights
  std::filesystem::path output{};        ///< empty: model.safetensors in that folder
  std::optional<std::int64_t> member{};  ///< only this one
};

}  // namespace headrace::inline v1::app
