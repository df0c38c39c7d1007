#include <headrace/apps/train/predict_torch.h>

#include <headrace/apps/jobs/glaucoma/data.h>
#include <headrace/apps/jobs/glaucoma/names.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/apps/train/choose_device_torch.h>
#include <headrace/apps/train/prediction_csv.h>
#include <headrace/engine/torch/as_tensor.h>
#include <headrace/models/efficient_glaucoma_cnn.h>
#include <headrace/training/checkpoint.h>
#include <headrace/training/safetensors.h>

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace headrace::inline v1::app {
namespace {

constexpr std::int64_t usual_batch = 128;

DeviceChoice device_choice(const std::string& word) {
  if (word == "cuda") return DeviceChoice::cuda;
  return word == "cpu" ? DeviceChoice::cpu : DeviceChoice::automatic;
}

// Weights alone (best.safetensors), or a checkpoint, whose names begin with their group's.
training::TensorMap read_weights(const std::filesystem::path& file) {
  training::TensorFile content = training::read_safetensors(file);
  const bool checkpoint =
      std::any_of(content.metadata.begin(), content.metadata.end(),
                  [](const auto& note) { return note.first == "headrace.crc32"; });
  if (checkpoint) return training::read_checkpoint(file).weights;
  return std::move(content.tensors);
}

// Rows of the evaluation pipeline as the network takes them; channels last, without a copy.
at::Tensor pictures(const Batch& batch, at::Device device) {
  return as_tensor(batch["image"]).permute({0, 3, 1, 2}).to(device);
}

}  // namespace

ExitCode predict(const PredictOptions& options) {
  at::set_num_threads(headrace::usable_cores());
  const ChosenDevice device = choose_device(device_choice(options.device));
  const at::Device target = torch_device(device.device);
  const auto network =
      models::make_efficient_glaucoma_cnn({.channels = 3, .classes = glaucoma_classes});
  training::load_weights(*network, read_weights(options.checkpoint));
  network->move_to(target, true);
  network->set_training(false);
  const PlannedSource source = plan_glaucoma_source_for_prediction(options.data);
  Loader loader = glaucoma_evaluation_pipeline({.source = source.open()},
                                               options.batch > 0 ? options.batch : usual_batch,
                                               true, device.device)
                      .build();
  const c10::InferenceMode no_gradients;
  PredictionCsv csv(glaucoma_classes);
  for (const Batch& batch : loader.epoch(0)) {
    const at::Tensor logits = network->forward(pictures(batch, target));
    const at::Tensor rows = logits.softmax(1).to(at::kCPU, at::kFloat).contiguous();
    csv.add({rows.const_data_ptr<float>(), static_cast<std::size_t>(rows.numel())});
  }
  write_file_atomically(options.output, csv.text());
  std::fprintf(stderr, "predict: %lld samples, %s\n", static_cast<long long>(csv.rows()),
               options.output.c_str());
  return ExitCode::done;
}

}  // namespace headrace::inline v1::app
