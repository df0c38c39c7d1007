#pragma once

#include <headrace/apps/train/reports.h>

#include <optional>
#include <string>

namespace headrace::inline v1::app {

/// "loss 0.6931 (dice 0.5012, bce 0.1919)"; empty where none was read.
std::string loss_text(std::optional<double> loss, const Figures& terms);

/// "step 7: 98.0 ms = data 3.00 ms + copy 1.00 ms + compute 92.0 ms + other 2.00 ms; loss 0.6931".
std::string step_text(const StepFacts& step);

}  // namespace headrace::inline v1::app
