#pragma once

#include <headrace/apps/figures/fold_outcome.h>
#include <headrace/apps/figures/reports.h>
#include <headrace/apps/figures/test_review.h>
#include <headrace/apps/view/step_rows.h>
#include <headrace/monitor/event_file.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What a run says to TensorBoard: in its folder's tb/ a folder for each member. Steps count over
/// all stages of a member; those that a process does again replace what was said of them. Used by
/// one thread.
class TensorBoardLog {
 public:
  using Warn = std::function<void(const std::string& line)>;

  /// `folder` is tb/. Nothing is made before the first begin().
  TensorBoardLog(std::filesystem::path folder, Warn warn);

  /// From now on of this member, whose folder is named so, and of a stage that began behind so many
  /// steps.
  void begin_member(const std::string& name, std::int64_t steps_before);
  /// Each step of the stage, before anything is said of it: one that is not behind the step before,
  /// and the first of this process, replaces what was said of it and of later ones.
  void begin_step(std::int64_t step);
  /// "train/loss", "train/loss_<term>", "train/gradient_norm", "train/learning_rate",
  /// "train/samples_per_second" where the steps took time.
  void add(const StepRow& row);
  /// "train/<figure>" of all but the loss and its terms, "validation/<figure>", and the confusion
  /// matrix of the validation as a picture, where there is one of 64 classes at most.
  void add(const EpochFacts& epoch);

 private:
  monitor::EventFile& file_from(std::int64_t step);

  std::filesystem::path folder_;
  Warn warn_;
  std::string member_;
  std::int64_t steps_before_ = 0;
  std::int64_t newest_ = 0;  // step, over all stages
  std::optional<monitor::EventFile> file_;
};

/// Writes what a test came to into tb/test, in place of what was there: "test/<figure>" of the
/// first vote or of the only member, and as pictures the confusion matrix, some of the test and its
/// worst mistakes. Nothing where there was no test.
void write_test_events(const std::filesystem::path& folder,
                       const std::vector<FoldOutcome>& outcomes, const TestReview& review,
                       const TensorBoardLog::Warn& warn);

}  // namespace headrace::inline v1::app
