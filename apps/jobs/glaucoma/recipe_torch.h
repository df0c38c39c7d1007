#pragma once

#include <headrace/apps/jobs/glaucoma/data.h>
#include <headrace/apps/learn/placed_records_torch.h>
#include <headrace/apps/task/network_torch.h>
#include <headrace/training/recipe.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
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

/// The job glaucoma: stratified folds over the training split, all tested on the same outer split.
class GlaucomaRecipe final : public training::Recipe, public PlacedRecords {
 public:
  explicit GlaucomaRecipe(const GlaucomaConfig& config) : config_(config) {}

  /// Reads labels and split.
  monitor::MemoryForecast plan() override;
  std::uint64_t open() override;
  std::vector<training::Member> members() const override;
  std::unique_ptr<training::Course> begin(const training::Member& member) const override;
  std::map<std::string, std::string> notes() const override;
  /// A file of maps with labels; "train", "test" or "all". Without a split in the file it is drawn
  /// as for training.
  std::vector<std::int64_t> test_on(const std::filesystem::path& data,
                                    const std::string& split) override;
  PlacedList placed(training::Split split, std::vector<std::int64_t> records) const override;
  std::string judged_part() const override { return judged_part_; }
  /// A file of maps, labels or none.
  Pipeline prediction(const std::filesystem::path& data, const training::Feed& feed) const override;

 private:
  GlaucomaConfig config_;
  PlannedSource planned_;
  GlaucomaRows rows_;
  GlaucomaRecords records_;  // an outline until open()
  std::filesystem::path judged_;
  std::string judged_part_ = "test";
};

}  // namespace headrace::inline v1::app
