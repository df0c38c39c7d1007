#pragma once

#include <headrace/apps/train/reports.h>
#include <headrace/engine/base/origin.h>

#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// A step whose loss or gradients were not finite, as it is written down.
struct BadStepFacts {
  std::int64_t epoch = 0;
  std::int64_t step = 0;  ///< of the stage, from 1
  double loss = 0.0;
  double gradient_norm = 0.0;
  std::string done{};             ///< "skipped", "reloaded" or "aborted"
  std::vector<Origin> samples{};  ///< that the step was taken with
};

/// One JSON object without a line end: member, stage (where there are several), epoch, step, loss
/// and gradient_norm (null where they are not finite), done, and samples, each with its index in
/// the source, its position in the epoch's order and its file.
std::string to_json(const BadStepFacts& bad, const FoldView& fold);

}  // namespace headrace::inline v1::app
