#pragma once

#include <headrace/apps/jobs/classification/config.h>
#include <headrace/apps/jobs/picture_recipe_torch.h>
#include <headrace/engine/tensor/device.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// The task classification: one network, or one for each fold.
class ClassificationRecipe final : public PictureRecipe {
 public:
  ClassificationRecipe(std::shared_ptr<const ClassificationConfig> config, Device device);

  /// Throws ConfigError where loss and thresholds do not suit what the records hold.
  monitor::MemoryForecast plan() override;
  /// Throws DataError for records of one class each where several were learnt, or the reverse.
  std::vector<std::int64_t> test_on(const std::filesystem::path& data,
                                    const std::string& split) override;
  std::unique_ptr<training::Course> begin(const training::Member& member) const override;
  std::map<std::string, std::string> notes() const override;
  void recall(const std::map<std::string, std::string>& notes) override;
  at::Tensor predicted(const at::Tensor& scores,
                       std::span<const training::TensorMap> fitted) const override;

 private:
  std::vector<std::string> class_names() const override;

  std::shared_ptr<const ClassificationConfig> config_;
  Device device_;
  bool multi_label_ = false;
};

}  // namespace headrace::inline v1::app
