#pragma once

#include <headrace/apps/learn/task_course_torch.h>
#include <headrace/apps/task/volume_pipelines.h>
#include <headrace/apps/task/volume_records.h>
#include <headrace/apps/task/volume_set.h>
#include <headrace/training/evaluation/window_inference.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace headrace::inline v1::app {

/// One member of a task on volumes: learns from patches, is judged on whole volumes. Of classes
/// that exclude each other; a job of masks derives from it.
class VolumeCourse : public TaskCourse {
 public:
  struct Parts {
    std::shared_ptr<const TaskConfig> config{};
    VolumeRecords records{};  ///< classes and `ignore`; the set is to train on and to validate with
    VolumeSet test{};
    std::int64_t channels = 1;
    std::int64_t outputs = 2;  ///< of the network: classes, or one mask by a sigmoid
    bool sigmoid = false;
    training::Member member{};
    bool trains = true;  ///< else its weights come from elsewhere
  };
  explicit VolumeCourse(Parts parts);

  Pipeline train(const training::Stage& stage, const training::Feed& feed) const override;
  bool evaluates(training::Split split) const override;
  /// Windows of the volumes; those of the validation step on by `predict.validation_step`.
  Pipeline evaluation(training::Split split, const training::Feed& feed) const override;
  /// Input `image` float32 [N, C, Z, Y, X]; targets `label` [N, Z, Y, X], int64 of classes and as
  /// it was read of a mask, and what the list `augment` has made of it: those of deep supervision,
  /// `label_1`, ..., and fields with other names as they are.
  training::Example example(const Batch& batch, const training::Moment& moment) const override;
  /// Of deep supervision only while it learns.
  training::Output forward(models::Network& network, const training::Example& example,
                           const training::Moment& moment) const override;
  /// Whole volumes; mirrored in the test alone.
  std::unique_ptr<training::Inference> inference(training::Split split) const override;
  std::unique_ptr<training::Metric> metric(training::Split split,
                                           const training::TensorMap& fitted) const override;

 protected:
  const Parts& parts() const noexcept { return parts_; }

 private:
  // What a split is made of.
  struct Windows {
    WindowPlan plan{};
    std::shared_ptr<const std::vector<training::WindowedVolume>> volumes{};
  };
  static Windows windows_of(const VolumeSet& set, const std::vector<std::int64_t>& cases,
                            const VolumeSettings& volume, double step);
  NetworkShape shape() const override;
  const Windows& windows(training::Split split) const {
    return split == training::Split::test ? test_ : validation_;
  }

  Parts parts_;
  Windows validation_;
  Windows test_;
};

/// That of the network with so many outputs, for volumes of so many channels.
NetworkShape volume_shape(const VolumeSettings& volume, std::int64_t outputs,
                          std::int64_t channels);

/// What an evaluation holds of a volume on its way, on the host: the sums of windows, which become
/// scores, and labels. Sums that a GPU keeps are not counted.
std::size_t held_of_volume(const std::array<std::int64_t, 3>& extent, std::int64_t outputs,
                           Device device);

}  // namespace headrace::inline v1::app
