#pragma once

#include <headrace/apps/train/fold_outcome.h>
#include <headrace/apps/train/gallery.h>

#include <optional>
#include <string>

namespace headrace::inline v1::app {

/// What all members that are done say together.
struct TestReview {
  /// Nothing where they are one, one is not done, or they were tested on records of their own.
  std::optional<FoldOutcome> vote{};
  Gallery gallery{};  ///< of their vote; empty where the job has no pictures to show
  /// Why neither was made, where there was no memory for it; else empty.
  std::string left_out{};
};

}  // namespace headrace::inline v1::app
