#pragma once

#include <headrace/apps/learn/picture_recipe_torch.h>
#include <headrace/apps/learn/task_config.h>
#include <headrace/engine/tensor/device.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Classes of pictures or arrays: one network, or one for each fold.
class ClassRecipe : public PictureRecipe {
 public:
  /// `ordinal`: classes are steps of a scale.
  ClassRecipe(std::shared_ptr<const TaskConfig> config, bool ordinal, Device device);

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

 protected:
  /// What plan() checks of the configuration, once the records are known.
  virtual void check_task() const;

  const TaskSettings& task() const { return config_->task; }
  bool multi_label() const { return multi_label_; }
  Device device() const { return device_; }

 private:
  std::vector<std::string> class_names() const override;

  std::shared_ptr<const TaskConfig> config_;
  bool ordinal_;
  Device device_;
  bool multi_label_ = false;
};

/// One factor a class for a loss, or of several classes a record what the presence of each counts;
/// empty for none. `counts` are records of each class among `records`.
std::vector<double> loss_weights(LossWeights weights, const std::vector<std::int64_t>& counts,
                                 std::int64_t records, bool multi_label);

/// Such factors as a float tensor where they are used; undefined for none.
at::Tensor weights_on(Device device, const std::vector<double>& weights);

/// Throws ConfigError for a loss of several labels where `binary` is false, and the reverse.
/// `because` is the end of the sentence, "every record has one class".
void require_loss(const LossList& loss, bool binary, const std::string& because);

}  // namespace headrace::inline v1::app
