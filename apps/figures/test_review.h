#pragma once

#include <headrace/apps/figures/fold_outcome.h>
#include <headrace/apps/figures/gallery.h>

#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What all members that are done say together.
struct TestReview {
  /// By each way to decide, the one that does first: see vote_member(). Empty where they are one,
  /// one is not done, or they have no test in common.
  std::vector<FoldOutcome> votes{};
  Gallery gallery{};  ///< of their vote; empty where the job has no pictures to show
  /// Why neither was made, where there was no memory for it; else empty.
  std::string left_out{};
};

}  // namespace headrace::inline v1::app
