#include <headrace/apps/job/read_job.h>
#include <headrace/apps/jobs/jobs.h>
#include <headrace/tests/apps/retinopathy/grades.h>
#include <headrace/tests/apps/retinopathy/pairs_of_grades.h>
#include <headrace/training/checkpoint/checkpoint_store.h>

#include <ATen/Parallel.h>

namespace headrace::test {

PairsOfGrades::PairsOfGrades(int grades, int count, const std::vector<std::string>& settings) {
  write_grades(folder_.path(), grades, count);
  const auto part = [&](const std::string& name) {
    return "{source: images, folder: " + (folder_.path() / name).string() + "}";
  };
  const std::string yaml =
      "kind: retinopathy\nimage: {size: 32}\n"
      "model: {name: resnet18, width: 0.125, hidden: [16], dropout: [0.2, 0.1]}\n"
      "data: {train: " +
      part("train") + ", validation: " + part("val") + ", test: " + part("test") +
      ", listings: ''}\n"
      "training: {epochs: 1, batch: 4, evaluation_batch: 4, stop_at: null}\n";
  config_ = std::dynamic_pointer_cast<const app::RetinopathyConfig>(
      app::read_training_text(app::jobs(), yaml, "job.yaml", settings).config);
  recipe_ = planned();
  recipe_->open();
}

std::unique_ptr<app::RetinopathyRecipe> PairsOfGrades::planned() const {
  auto recipe = std::make_unique<app::RetinopathyRecipe>(config_, Device::cpu());
  recipe->plan();
  return recipe;
}

OneTorchThread::OneTorchThread() : before_(at::get_num_threads()) {
  at::set_num_threads(1);
}

OneTorchThread::~OneTorchThread() {
  at::set_num_threads(before_);
}

training::Checkpoint train_pair(const training::Recipe& recipe, const training::Member& member,
                                const training::MemberCallbacks& callbacks,
                                const LoaderOptions& loaders) {
  const OneTorchThread one_thread;
  const TemporaryFolder folder;
  const std::filesystem::path checkpoints = folder.path() / member.name;
  training::train_member(recipe, member,
                         {.folder = checkpoints, .loaders = loaders, .seed = seed_of_pairs},
                         callbacks);
  return training::CheckpointStore(checkpoints).load_latest().value();
}

}  // namespace headrace::test
