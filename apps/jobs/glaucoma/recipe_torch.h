#pragma once

#include <headrace/apps/jobs/glaucoma/data.h>
#include <headrace/training/recipe.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// The job glaucoma: stratified folds over the training split, all tested on the same outer split.
class GlaucomaRecipe final : public training::Recipe {
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
  /// A file of maps, labels or none.
  Pipeline prediction(const std::filesystem::path& data, const training::Feed& feed) const override;

 private:
  GlaucomaConfig config_;
  PlannedSource planned_;
  GlaucomaRows rows_;
  GlaucomaRecords records_;  // an outline until open()
};

}  // namespace headrace::inline v1::app
