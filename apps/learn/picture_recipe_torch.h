#pragma once

#include <headrace/apps/learn/picture_course_torch.h>
#include <headrace/apps/learn/placed_records_torch.h>
#include <headrace/apps/learn/task_config.h>
#include <headrace/apps/task/channel_statistics.h>
#include <headrace/apps/task/find_data.h>
#include <headrace/apps/task/pipelines.h>
#include <headrace/apps/task/records.h>
#include <headrace/engine/tensor/shape.h>
#include <headrace/loaders/listing/data_split.h>
#include <headrace/training/recipe.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {

/// What both tasks have in common, on pictures or arrays: records listed and divided, statistics,
/// pipelines.
class PictureRecipe : public training::Recipe, public PlacedRecords {
 public:
  monitor::MemoryForecast plan() override;
  std::uint64_t open() override;
  std::vector<training::Member> members() const override;
  std::map<std::string, std::string> notes() const override;
  std::string records_word() const override { return records_word_; }
  void recall(const std::map<std::string, std::string>& notes) override;
  void set_root(const std::filesystem::path& root) override { root_ = root; }
  /// Pictures in a folder of any layout, one picture, a manifest or a pack; arrays likewise
  /// (open_unlabelled_arrays()).
  Pipeline prediction(const std::filesystem::path& data, const training::Feed& feed) const override;
  /// Labelled data of any layout that training takes; parts are "train", "validation" and "test".
  std::vector<std::int64_t> test_on(const std::filesystem::path& data,
                                    const std::string& split) override;
  PlacedList placed(training::Split split, std::vector<std::int64_t> records) const override;
  std::string judged_part() const override { return judged_part_; }
  /// Decided by the mean of the members' thresholds.
  std::unique_ptr<training::Metric> metric_of_vote(
      std::span<const training::TensorMap> fitted) const override;

 protected:
  /// `mask`: how masks are read, where pictures have some.
  explicit PictureRecipe(std::shared_ptr<const TaskConfig> config,
                         std::optional<MaskFeed> mask = {})
      : config_(std::move(config)), task_(config_->task), mask_(std::move(mask)) {}

  /// What courses of both tasks have in common.
  PictureCourse::Parts parts(const training::Member& member) const;
  const TaskRecords& records() const { return records_; }
  const std::vector<std::string>& classes() const { return classes_; }
  /// Of pipelines whose batches any member may get.
  TaskFeed feed() const;
  bool arrays() const { return holds_arrays(task_.data); }
  /// Lists the records and divides them. Default: `open_records`.
  virtual TaskRecords listed() const;
  /// Of labelled data that are judged, the rows that count. Throws DataError for data that cannot
  /// be judged. Default: all of them.
  virtual std::vector<std::int64_t> judged(const LabelledSource& test,
                                           std::vector<std::int64_t> rows) const;
  /// Names of what is told apart, in the order of the network's scores, after the records are
  /// known.
  virtual std::vector<std::string> class_names() const = 0;

 private:
  BadSampleSettings bad_samples() const;
  NetworkShape shape() const;
  std::vector<ChannelStatistics> resolve() const;
  const ChannelStatistics& statistics_of_member(std::int64_t index) const;
  TaskFeed feed_by(const ChannelStatistics& statistics) const;
  FoundData found_in(const std::filesystem::path& data) const;

  std::shared_ptr<const TaskConfig> config_;
  const TaskSettings& task_;
  std::optional<MaskFeed> mask_;
  TaskRecords records_;
  std::string records_word_;
  std::vector<ChannelStatistics> statistics_ =
      std::vector<ChannelStatistics>(1);  // one for all, or of each member
  std::vector<std::string> classes_;
  Shape record_;                      // of arrays
  std::vector<std::int64_t> judged_;  // rows of data that an evaluation was given
  std::string judged_part_ = "test";
  std::optional<DataSet> judged_set_;
  std::filesystem::path root_;  // of lists; empty: as in training
};

}  // namespace headrace::inline v1::app
