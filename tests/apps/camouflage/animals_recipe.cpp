#include <headrace/apps/job/read_job.h>
#include <headrace/apps/jobs/jobs.h>
#include <headrace/tests/apps/camouflage/animals_recipe.h>
#include <headrace/tests/apps/camouflage/hidden_animals.h>

namespace headrace::test {

AnimalsRecipe::AnimalsRecipe(const std::vector<std::string>& settings, int count) {
  const auto part = [&](const std::string& name, int pictures) {
    write_animals(folder_.path() / name, pictures);
    return "{source: pairs, folder: " + (folder_.path() / name / "Imgs").string() +
           ", masks: " + (folder_.path() / name / "GT_Object").string() + "}";
  };
  const std::string yaml = "kind: camouflage\nimage: {size: 64}\naugment: [flip]\ndata: {train: " +
                           part("Train", count) + ", validation: " + part("Val", 6) +
                           ", test: " + part("Test", 6) + R"(, listings: ''}
model:
  name: camoxpert_lean
  encoder: edgenext_xx_small
  width: 0.5
  allow_random_frozen: true
training:
  evaluation_batch: 6
  accumulation: 2
  learning_rate: 0.002
  ema: 0.9
  schedule: {one-cycle: {pct: 0.2}}
  stages:
    - {name: decoder, epochs: 1, batch: 4, frozen: [backbone.]}
    - name: whole
      epochs: 3
      batch: 2
      keep_moments: true
      groups: [{pattern: backbone., rate_factor: 0.1}]
      frozen: [backbone.stem., backbone.stages.0., backbone.stages.1., backbone.stages.2.]
      unfreeze:
        - {at: 1, patterns: [backbone.stages.2.], warmup: 0}
        - {at: 2, patterns: [backbone.stem., backbone.stages.0., backbone.stages.1.], warmup: 0}
)";
  config_ = std::dynamic_pointer_cast<const app::CamouflageConfig>(
      app::read_training_text(app::jobs(), yaml, "job.yaml", settings).config);
  recipe_ = std::make_unique<app::CamouflageRecipe>(config_);
  recipe_->plan();
  recipe_->open();
}

std::vector<std::string> compatible_network() {
  return {"model.name=camoxpert", "model.encoder=edgenext_x_small"};
}

}  // namespace headrace::test
