#include <headrace/apps/jobs/leak/parts_torch.h>

#include <headrace/apps/jobs/leak/names.h>
#include <headrace/apps/run/abort_on_hang.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/torch/as_tensor.h>
#include <headrace/models/leak_loss.h>
#include <headrace/models/metrics.h>

#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <string>
#include <utility>

namespace headrace::inline v1::app {
namespace {

std::string layout_text(const LeakFile& file) {
  return to_string(Shape{file.longs, file.shorts, file.mels, file.frames});
}

void require_same_layout(const LeakFile& file, const LeakFile& training) {
  if (layout_text(file) == layout_text(training)) return;
  throw DataError("[leak] " + file.path.string() + ": recordings must be " + layout_text(training) +
                  " as those of " + training.path.string() + ", got " + layout_text(file));
}

double area(const std::vector<double>& scores, const std::vector<std::uint8_t>& labels) {
  return models::area_under_roc(scores, labels);
}

}  // namespace

LeakFiles read_leak_files(const LeakData& data) {
  LeakFiles files{.training = read_leak_file(data.training)};
  files.validation = read_leak_file(data.validation, &files.training);
  files.testing = read_leak_file(data.testing, &files.training);
  require_same_layout(files.validation, files.training);
  require_same_layout(files.testing, files.training);
  return files;
}

LeakLoaders build_leak_loaders(const LeakSources& sources, const LeakFiles& files,
                               const LeakConfig& config, const ChosenDevice& device,
                               const Runtime& runtime) {
  const LoaderOptions options{.prefetch = config.data.prefetch,
                              .watchdog = abort_on_hang(config.threads.watchdog),
                              .runtime = runtime};
  const auto evaluation = [&](const std::shared_ptr<const Source>& segments) {
    return leak_evaluation_pipeline(segments, config.training.evaluation_batch, device.device)
        .build(options);
  };
  return {.train = leak_training_pipeline(sources.training, files.training, config, device.device)
                       .build(options),
          .validation = evaluation(sources.validation),
          .test = evaluation(sources.testing)};
}

training::Loss leak_training_loss(const LeakFile& training, const LeakTraining& options,
                                  c10::Device device) {
  const auto leaks = std::count(training.labels.begin(), training.labels.end(), 1);
  const std::int64_t counts[] = {static_cast<std::int64_t>(training.labels.size()) - leaks, leaks};
  const at::Tensor weights =
      at::tensor(models::leak_class_weights(counts, 1, options.leak_boost), at::kFloat).to(device);
  return [weights, auxiliary = options.auxiliary](
             const at::Tensor& output, const at::Tensor& target, const at::Tensor& present) {
    return models::leak_loss(
        output, target, {.class_weights = weights, .auxiliary = auxiliary, .present = present});
  };
}

training::Unpack leak_unpack(const LeakFile& training, bool channels_last) {
  const auto format = channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
  const double mean = training.mean;
  const double scale = 1.0 / training.deviation;
  return [=](const Batch& batch, at::Device device) {
    const auto field = [&](const char* name) {
      return as_tensor(batch[name]).to(device, /*non_blocking=*/true);
    };
    at::Tensor mel = field("mel").to(at::kFloat);
    mel.sub_(mean).mul_(scale);
    training::Example example{.input = mel.unsqueeze(1).contiguous(format),
                              .target = field("label"),
                              .rows = batch.valid_rows()};
    if (batch.has("valid")) example.present = field("valid").to(at::kBool);
    return example;
  };
}

training::Precision leak_precision(const LeakTraining& training) {
  return training.precision == LeakPrecision::bf16 ? training::Precision::bf16
                                                   : training::Precision::fp32;
}

training::TrainerOptions leak_trainer_options(const LeakConfig& config, const ChosenDevice& device,
                                              const LeakFile& training,
                                              std::int64_t steps_per_epoch) {
  const LeakTraining& options = config.training;
  const training::WarmupCosineOptions rate{.base = options.learning_rate,
                                           .lowest = options.lowest_rate,
                                           .warmup = options.warmup_epochs * steps_per_epoch,
                                           .total = options.epochs * steps_per_epoch};
  return {.epochs = options.epochs,
          .clip_norm = options.clip,
          .precision = leak_precision(options),
          .device = torch_device(device.device),
          .classes = leak_classes,
          .schedule = [rate](std::int64_t step) { return training::warmup_cosine(rate, step); },
          .early_stopping = training::EarlyStoppingOptions{.goal = training::Goal::maximum,
                                                           .patience = options.early_stopping},
          .checkpoint_every = options.checkpoint_every,
          .identity = {{"job", "leak"},
                       {"classes", "0 other, 1 LEAK"},
                       {"recordings", std::to_string(training.labels.size())},
                       {"batch", std::to_string(options.batch)},
                       {"epochs", std::to_string(options.epochs)},
                       {"seed", std::to_string(config.seed)}}};
}

void LeakScores::add(const Batch& batch, const at::Tensor& output) {
  if (batch.number() == 0) batches_.clear();
  const at::Tensor both = output.narrow(1, 0, leak_classes).to(at::kFloat).softmax(1);
  batches_.push_back(both.select(1, 1).contiguous());
}

std::vector<float> LeakScores::probabilities() const {
  if (batches_.empty()) return {};
  const at::Tensor host = at::cat(batches_).to(at::kCPU);
  const float* values = host.const_data_ptr<float>();
  return {values, values + host.numel()};
}

models::LeakLayout layout_of(const LeakFile& file) {
  return {.longs = file.longs, .shorts = file.shorts};
}

LeakFigures leak_figures(const LeakScores& scores, const LeakFile& file, double threshold) {
  const std::vector<float> all = scores.probabilities();
  const models::LeakLayout layout = layout_of(file);
  LeakFigures figures{.decisions = threshold < 0.0
                                       ? models::best_leak_threshold(all, file.labels, layout)
                                       : models::decide_leaks(all, file.labels, layout, threshold)};
  const auto segments = static_cast<std::size_t>(layout.segments());
  std::vector<double> of_recordings(file.labels.size(), 0.0);
  std::vector<std::uint8_t> of_segments(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    of_segments[i] = file.labels[i / segments];
    of_recordings[i / segments] += double{all[i]};
  }
  figures.segment_auc = area({all.begin(), all.end()}, of_segments);
  figures.recording_auc = area(of_recordings, file.labels);
  return figures;
}

}  // namespace headrace::inline v1::app
