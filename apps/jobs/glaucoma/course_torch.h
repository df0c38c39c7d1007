#pragma once

#include <headrace/apps/jobs/glaucoma/data.h>
#include <headrace/apps/task/network_torch.h>
#include <headrace/training/recipe.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace headrace::inline v1::app {

/// One fold of the job: a network for maps of an eye, its loss and figures.
class GlaucomaCourse final : public training::Course {
 public:
  GlaucomaCourse(const GlaucomaConfig& config, GlaucomaRecords records, training::Member member);

  std::vector<training::Stage> stages() const override;
  std::unique_ptr<models::Network> network() const override;
  void try_network(models::Network& network, at::Device device) const override;
  Pipeline train(const training::Stage& stage, const training::Feed& feed) const override;
  Pipeline evaluation(training::Split split, const training::Feed& feed) const override;
  /// Input `image` float [N, 3, H, W], target `label` int64 [N] or, mixed, float [N, 5].
  training::Example example(const Batch& batch, const training::Moment& moment) const override;
  std::vector<training::Term> loss(const training::Output& output, const training::Example& example,
                                   const training::Moment& moment) const override;
  std::unique_ptr<training::Metric> metric(training::Split split,
                                           const training::TensorMap& fitted) const override;
  training::Selection selected_by() const override;

 private:
  NetworkShape shape() const;
  const GlaucomaConfig& of_stage(const training::Stage& stage) const;

  GlaucomaConfig config_;
  GlaucomaRecords records_;
  training::Member member_;
  training::Unpack unpack_;
};

}  // namespace headrace::inline v1::app
