#pragma once

#include <headrace/apps/jobs/leak/data.h>
#include <headrace/apps/learn/placed_records_torch.h>
#include <headrace/apps/task/network_torch.h>
#include <headrace/training/recipe.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// The three files of the job and their segments.
struct LeakSplits {
  LeakFile training{};
  LeakFile validation{};
  LeakFile testing{};
};

/// The files' segments, as they are planned or opened.
struct LeakSources {
  std::shared_ptr<const Source> training{};
  std::shared_ptr<const Source> validation{};
  std::shared_ptr<const Source> testing{};
};

/// The job's network over segments, its loss and its figures over segments and recordings.
class LeakCourse final : public training::Course {
 public:
  /// `device` is where outputs will be.
  LeakCourse(const LeakConfig& config, LeakSplits files, LeakSources sources, at::Device device);

  std::vector<training::Stage> stages() const override;
  std::unique_ptr<models::Network> network() const override;
  void try_network(models::Network& network, at::Device device) const override;
  Pipeline train(const training::Stage& stage, const training::Feed& feed) const override;
  Pipeline evaluation(training::Split split, const training::Feed& feed) const override;
  /// Input `mel` float [N, 1, mels, frames], mean 0 and deviation 1 over the training set; target
  /// `label` int64 [N].
  training::Example example(const Batch& batch, const training::Moment& moment) const override;
  /// "classes" with class weights from the training labels, and of LeakCNN "auxiliary".
  std::vector<training::Term> loss(const training::Output& output, const training::Example& example,
                                   const training::Moment& moment) const override;
  /// [N, 2]: the softmax of the class head.
  at::Tensor scores(const training::Output& output) const override;
  std::unique_ptr<training::Metric> metric(training::Split split,
                                           const training::TensorMap& fitted) const override;
  training::Selection selected_by() const override;

 private:
  NetworkShape shape() const;
  const LeakConfig& of_stage(const training::Stage& stage) const;

  LeakConfig config_;
  LeakSplits files_;
  LeakSources sources_;
  std::vector<at::Tensor> class_weights_;  // by stage
};

/// The job leak: one network over the segments of three files.
class LeakRecipe final : public training::Recipe, public PlacedRecords {
 public:
  LeakRecipe(const LeakConfig& config, Device device) : config_(config), device_(device) {}

  /// Reads labels and attributes.
  monitor::MemoryForecast plan() override;
  std::uint64_t open() override;
  std::unique_ptr<training::Course> begin(const training::Member& member) const override;
  std::map<std::string, std::string> notes() const override;
  void recall(const std::map<std::string, std::string>& notes) override;
  /// A leak from the threshold on that the validation has fitted.
  at::Tensor predicted(const at::Tensor& scores,
                       std::span<const training::TensorMap> fitted) const override;
  /// A file of the job with labels, all of it: "all", "test" or nothing.
  std::vector<std::int64_t> test_on(const std::filesystem::path& data,
                                    const std::string& split) override;
  PlacedList placed(training::Split split, std::vector<std::int64_t> records) const override;
  std::string judged_part() const override { return "all"; }
  /// The segments of a file of the job, labels or none, in their order.
  Pipeline prediction(const std::filesystem::path& data, const training::Feed& feed) const override;

 private:
  void require_mels(const LeakFile& file) const;

  LeakConfig config_;
  Device device_;
  LeakSplits files_;
  PlannedSource training_;
  PlannedSource validation_;
  PlannedSource testing_;
  LeakSources sources_;  // outlines until open()
};

}  // namespace headrace::inline v1::app
