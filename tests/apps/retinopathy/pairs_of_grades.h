#pragma once

#include <headrace/apps/jobs/retinopathy/recipe_torch.h>
#include <headrace/tests/support/temporary_folder.h>
#include <headrace/training/checkpoint/checkpoint.h>
#include <headrace/training/member_run.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace headrace::test {

/// Pictures of so many grades in a folder of their own, `count` of the first and fewer of the
/// others, and the recipe of their pairs, ready to train. The network is a small ResNet unless the
/// settings say otherwise.
class PairsOfGrades {
 public:
  PairsOfGrades(int grades, int count, const std::vector<std::string>& settings = {});

  const std::filesystem::path& folder() const { return folder_.path(); }
  std::shared_ptr<const app::RetinopathyConfig> config() const { return config_; }
  const app::RetinopathyRecipe& recipe() const { return *recipe_; }
  training::Member first() const { return recipe_->members().front(); }
  /// A recipe of these pictures as they are now.
  std::unique_ptr<app::RetinopathyRecipe> planned() const;

 private:
  TemporaryFolder folder_;
  std::shared_ptr<const app::RetinopathyConfig> config_;
  std::unique_ptr<app::RetinopathyRecipe> recipe_;
};

/// While it lives LibTorch computes by the calling thread alone.
class OneTorchThread {
 public:
  OneTorchThread();
  ~OneTorchThread();
  OneTorchThread(const OneTorchThread&) = delete;
  OneTorchThread& operator=(const OneTorchThread&) = delete;

 private:
  int before_;
};

/// Trains a member, on one thread, in a folder that is removed afterwards, and gives its last
/// checkpoint.
training::Checkpoint train_pair(const training::Recipe& recipe, const training::Member& member,
                                const training::MemberCallbacks& callbacks = {},
                                const LoaderOptions& loaders = {});

/// What train_pair() adds the member's number to.
inline constexpr std::uint64_t seed_of_pairs = 5;

}  // namespace headrace::test
