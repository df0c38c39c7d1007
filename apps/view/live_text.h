#pragma once

#include <headrace/apps/figures/reports.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// "loss 0.6931 (dice 0.5012, bce 0.1919)"; empty where none was read.
std::string loss_text(std::optional<double> loss, const Figures& terms);

/// "step 7: 98.0 ms = data 3.00 ms + copy 1.00 ms + compute 92.0 ms + other 2.00 ms; loss 0.6931".
std::string step_text(const StepFacts& step);

/// A run between two steps, as it is shown.
struct LiveFacts {
  const FoldView& fold;
  const StepFacts& step;
  double samples_per_s = 0.0;
  std::optional<double> loss{};  ///< see ShownLoss
  Figures terms{};               ///< see ShownTerms
  std::string budget{};          ///< sentence of the step's time
  std::string machine{};         ///< status line; empty: not known yet
};

/// What the live block shows (terminal), and the one line that stands for it elsewhere.
struct LiveText {
  std::vector<std::string> lines{};
  std::string plain{};
};

/// The loss's terms are left out where they would not fit `columns`.
LiveText live_text(const LiveFacts& facts, std::size_t columns);

}  // namespace headrace::inline v1::app
