#include <headrace/apps/train/choose_device_torch.h>
#include <headrace/apps/train/predict_torch.h>
#include <headrace/apps/train/prediction_csv.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/training/best_weights.h>
#include <headrace/training/checkpoint_error.h>
#include <headrace/training/evaluation.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include <ATen/Parallel.h>

namespace headrace::inline v1::app {
namespace {

DeviceChoice device_choice(const std::string& word) {
  if (word == "cuda") return DeviceChoice::cuda;
  return word == "cpu" ? DeviceChoice::cpu : DeviceChoice::automatic;
}

// The configuration that the weights were trained with, which their file holds.
TrainingJob job_of(const std::vector<Job>& jobs, const training::BestWeights& weights,
                   const std::filesystem::path& file) {
  const auto found = weights.notes.find("configuration");
  if (found == weights.notes.end())
    throw training::CheckpointError(
        "[predict] " + file.string() +
        ": must say which configuration its weights were trained with, says nothing; take a file "
        "that headrace train has written");
  return read_training_text(jobs, found->second, file.string() + " (configuration)");
}

void add(std::optional<PredictionCsv>& csv, const at::Tensor& scores) {
  const at::Tensor rows = scores.to(at::kCPU, at::kFloat).flatten(1).contiguous();
  if (!csv) csv.emplace(static_cast<int>(rows.size(1)));
  csv->add({rows.const_data_ptr<float>(), static_cast<std::size_t>(rows.numel())});
}

}  // namespace

ExitCode predict(const PredictOptions& options, const std::vector<Job>& jobs,
                 const MakeRecipe& make_recipe) {
  at::set_num_threads(headrace::usable_cores());
  const ChosenDevice device = choose_device(device_choice(options.device));
  const at::Device target = torch_device(device.device);
  const training::BestWeights weights = training::read_best_weights(options.checkpoint);
  const TrainingJob job = job_of(jobs, weights, options.checkpoint);
  const auto recipe = make_recipe(job.name, *job.config, device.device);
  recipe->recall(weights.notes);
  const auto course = recipe->begin({});
  const training::Stage stage = course->stages().back();
  const auto network = course->network();
  training::load_weights(*network, weights.weights);
  network->move_to(target, stage.channels_last);
  const std::int64_t batch = options.batch > 0 ? options.batch : training::evaluation_batch(stage);
  Loader loader =
      recipe->prediction(options.data, {.batch = batch, .device = device.device}).build();
  std::optional<PredictionCsv> csv;
  training::predict(*course, *network, loader,
                    {.device = target,
                     .stage = stage,
                     .fitted = weights.fitted,
                     .on_cases = [&](const training::Cases& cases) { add(csv, cases.scores); }});
  if (!csv) throw DataError("[predict] " + options.data.string() + " must hold samples, got none");
  write_file_atomically(options.output, csv->text());
  std::fprintf(stderr, "predict: %lld samples, %s\n", static_cast<long long>(csv->rows()),
               options.output.c_str());
  return ExitCode::done;
}

}  // namespace headrace::inline v1::app
