#pragma once

#include <headrace/apps/learn/task_config.h>
#include <headrace/apps/learn/task_course_torch.h>
#include <headrace/apps/task/channel_statistics.h>
#include <headrace/apps/task/loss_torch.h>
#include <headrace/apps/task/network_torch.h>
#include <headrace/apps/task/pipelines.h>
#include <headrace/apps/task/records.h>
#include <headrace/training/recipe.h>

#include <cstdint>
#include <memory>
#include <utility>

namespace headrace::inline v1::app {

/// What the courses of both tasks have in common, on pictures or arrays.
class PictureCourse : public TaskCourse {
 public:
  /// What a course is made of.
  struct Parts {
    std::shared_ptr<const TaskConfig> config{};
    TaskFeed feed{};
    TaskRecords records{};
    training::Member member{};
    std::int64_t outputs = 0;        ///< of the network
    Shape record{};                  ///< of arrays; without axes: pictures
    ChannelStatistics statistics{};  ///< that the network's input is normalised by
    bool trains = true;              ///< else its weights come from elsewhere
    LossContext loss{};              ///< weights are on the compute device
  };

  Pipeline train(const training::Stage& stage, const training::Feed& feed) const override;
  bool evaluates(training::Split split) const override;
  Pipeline evaluation(training::Split split, const training::Feed& feed) const override;
  std::unique_ptr<training::Inference> inference(training::Split split) const override;
  bool shows_pictures() const override { return parts_.record.rank() != 1; }
  /// As the network sees them, before they are normalised; other inputs than pictures in grey, from
  /// the least of their values to the largest.
  at::Tensor pictures(const training::Example& example) const override;

 protected:
  explicit PictureCourse(Parts parts)
      : TaskCourse({.config = parts.config, .trains = parts.trains, .loss = parts.loss}),
        parts_(std::move(parts)) {}

  const Parts& parts() const { return parts_; }
  const TaskSettings& task() const { return parts_.feed.task; }

 private:
  NetworkShape shape() const override;

  Parts parts_;
};

/// How its batches of pictures become an example: those of `feed` are normalised anew where the
/// network has statistics of its own.
training::ImageFields image_fields(const PictureCourse::Parts& parts, const std::string& target,
                                   std::int64_t classes);

}  // namespace headrace::inline v1::app
