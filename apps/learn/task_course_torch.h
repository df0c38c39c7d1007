#pragma once

#include <headrace/apps/learn/task_config.h>
#include <headrace/apps/task/loss_torch.h>
#include <headrace/apps/task/network_torch.h>
#include <headrace/training/recipe.h>

#include <memory>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {

/// What the courses of tasks have in common, whatever their records are: stages, network, loss and
/// selection are as the configuration says.
class TaskCourse : public training::Course {
 public:
  std::vector<training::Stage> stages() const override;
  std::unique_ptr<models::Network> network() const override;
  void try_network(models::Network& network, at::Device device) const override;
  std::vector<training::Term> loss(const training::Output& output, const training::Example& example,
                                   const training::Moment& moment) const override;
  training::Selection selected_by() const override;

 protected:
  struct Common {
    std::shared_ptr<const TaskConfig> config{};
    bool trains = true;  ///< else its weights come from elsewhere
    LossContext loss{};  ///< weights are on the compute device
  };
  explicit TaskCourse(Common common) : common_(std::move(common)) {}
  const LossContext& loss_context() const noexcept { return common_.loss; }

  /// Of its network.
  virtual NetworkShape shape() const = 0;
  /// What holds in a stage.
  const TaskConfig& of_stage(const training::Stage& stage) const;

 private:
  Common common_;
};

}  // namespace headrace::inline v1::app
