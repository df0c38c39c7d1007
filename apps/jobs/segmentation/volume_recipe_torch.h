#pragma once

#include <headrace/apps/jobs/segmentation/config.h>
#include <headrace/apps/jobs/volume_predictor_torch.h>
#include <headrace/apps/task/volume_records.h>
#include <headrace/engine/tensor/device.h>
#include <headrace/training/recipe.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {

/// The task segmentation on volumes: one network, or one for each fold.
class VolumeRecipe final : public training::Recipe, public VolumePredictor {
 public:
  VolumeRecipe(std::shared_ptr<const SegmentationConfig> config, Device device)
      : config_(std::move(config)), device_(device) {}

  /// Prepares the volumes where they are not.
  monitor::MemoryForecast plan() override;
  /// Nothing is kept that is not read as it is needed.
  std::uint64_t open() override { return 0; }
  std::vector<training::Member> members() const override;
  std::map<std::string, std::string> notes() const override;
  void recall(const std::map<std::string, std::string>& notes) override;
  std::unique_ptr<training::Course> begin(const training::Member& member) const override;
  /// Labelled volumes: nnU-Net's raw layout, or a folder of images with that of their labels beside
  /// it. They have no parts.
  std::vector<std::int64_t> test_on(const std::filesystem::path& data,
                                    const std::string& split) override;

  VolumeTask volume_task() const override;
  std::vector<std::int64_t> test_on(VolumeSet set) override;

 private:
  void check_before_reading() const;

  std::shared_ptr<const SegmentationConfig> config_;
  Device device_;
  VolumeRecords records_;
  VolumeSet test_;
  std::int64_t channels_ = 1;
};

}  // namespace headrace::inline v1::app
