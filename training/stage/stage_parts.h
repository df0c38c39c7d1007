#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace headrace::inline v1::training {

/// Parameters whose name has `pattern` somewhere ("*" stands for anything) and what is theirs. The
/// first rule that fits counts.
struct GroupRule {
  std::string pattern = {};
  double rate_factor = 1.0;  ///< of the learning rate
  /// Of all of them, vectors too; none: the optimiser's, by its rule for vectors.
  std::optional<double> weight_decay = {};
};

/// A change inside a stage: from that epoch on, parameters of these patterns are trained, too. The
/// schedule goes on, and so do the moments of what was trained before.
struct Unfreeze {
  std::int64_t at = 1;
  std::vector<std::string> patterns = {};  ///< as GroupRule::pattern, of frozen parameters
  double rate_factor = 1.0;                ///< beside that of their group rule
  std::int64_t warmup = 100;               ///< updates over which their rate rises
};

/// Where a stage's weights come from.
enum class StartFrom : unsigned char { last, best };

/// A step whose loss or gradients are not finite changes nothing and is counted; so many of them in
/// a row end the run.
struct SkipStep {
  int in_a_row = 20;
};

/// It takes the run back to its newest checkpoint, with lower rates from there on.
struct ReloadCheckpoint {
  double factor = 0.5;  ///< of all rates, at each time
  int times = 3;        ///< that this is done in a stage; then the run ends
};

/// It ends the run.
struct AbortRun {};

/// What is done about a loss or gradients that are not finite. Of fp16 gradients that overflow
/// under a finite loss are none of these: the loss is scaled down, see `GradScaler`.
using NonFinitePolicy = std::variant<SkipStep, ReloadCheckpoint, AbortRun>;

}  // namespace headrace::inline v1::training
