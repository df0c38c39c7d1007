#pragma once

#include <headrace/apps/learn/placed_records_torch.h>
#include <headrace/apps/learn/task_config.h>
#include <headrace/apps/learn/volume_course_torch.h>
#include <headrace/apps/learn/volume_predictor_torch.h>
#include <headrace/apps/task/volume_records.h>
#include <headrace/engine/tensor/device.h>
#include <headrace/training/recipe.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {

/// A task on volumes: one network, or one for each fold. As it stands the task segmentation, of
/// classes that exclude each other; a job of masks derives from it.
class VolumeRecipe : public training::Recipe, public VolumePredictor, public PlacedRecords {
 public:
  VolumeRecipe(std::shared_ptr<const TaskConfig> config, Device device)
      : config_(std::move(config)), device_(device) {}

  /// Prepares the volumes where they are not.
  monitor::MemoryForecast plan() override;
  /// Nothing is kept that is not read as it is needed.
  std::uint64_t open() override { return 0; }
  std::vector<training::Member> members() const override;
  std::map<std::string, std::string> notes() const override;
  std::string records_word() const override;
  void recall(const std::map<std::string, std::string>& notes) override;
  std::unique_ptr<training::Course> begin(const training::Member& member) const override;
  /// Labelled volumes: nnU-Net's raw layout, or a folder of images with that of their labels beside
  /// it. They have no parts.
  std::vector<std::int64_t> test_on(const std::filesystem::path& data,
                                    const std::string& split) override;

  PlacedList placed(training::Split split, std::vector<std::int64_t> records) const override;
  std::string judged_part() const override { return "all"; }

  VolumeTask volume_task() const override;
  std::vector<std::int64_t> test_on(VolumeSet set) override;

 protected:
  /// "segmentation", for the notes of a checkpoint.
  virtual std::string task_name() const { return "segmentation"; }
  /// What is known of the data before it is read. Default: nothing.
  virtual VolumeClasses expected() const { return {}; }
  /// Outputs of a network for so many classes. Default: as many.
  virtual std::int64_t outputs(std::int64_t classes) const { return classes; }
  /// Throws ConfigError for a term of the loss that cannot judge these outputs.
  virtual void check_terms(const LossList& loss) const;
  VolumeCourse::Parts parts(const training::Member& member) const;
  /// Of the prepared volume with most voxels; none where there is no volume.
  std::array<std::int64_t, 3> largest_extent() const;

 private:
  std::int64_t outputs() const {
    return outputs(static_cast<std::int64_t>(records_.classes.size()));
  }
  void check_before_reading() const;

  std::shared_ptr<const TaskConfig> config_;
  Device device_;
  VolumeRecords records_;
  VolumeSet test_;
  std::vector<NnUNetCase> judged_;  // of test_, where it is of other data
  std::int64_t channels_ = 1;
};

}  // namespace headrace::inline v1::app
