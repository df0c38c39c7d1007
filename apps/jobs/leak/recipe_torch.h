#pragma once

#include <headrace/apps/jobs/leak/course_torch.h>
#include <headrace/training/recipe.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// The job leak: one network over the segments of three files.
class LeakRecipe final : public training::Recipe {
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
  /// The segments of a file of the job, labels or none, in their order.
  Pipeline prediction(const std::filesystem::path& data, const training::Feed& feed) const override;

 private:
  LeakConfig config_;
  Device device_;
  LeakSplits files_;
  PlannedSource training_;
  PlannedSource validation_;
  PlannedSource testing_;
  LeakSources sources_;  // outlines until open()
};

}  // namespace headrace::inline v1::app
