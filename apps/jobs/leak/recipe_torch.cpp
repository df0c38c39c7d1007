#include <headrace/apps/jobs/device_torch.h>
#include <headrace/apps/jobs/leak/metric_torch.h>
#include <headrace/apps/jobs/leak/names.h>
#include <headrace/apps/jobs/leak/recipe_torch.h>
#include <headrace/engine/base/error.h>
#include <headrace/training/checkpoint_error.h>

#include <cstdio>
#include <string>
#include <vector>

namespace headrace::inline v1::app {
namespace {

constexpr const char* statistics = "mean %.17g, deviation %.17g dB";

std::string layout_text(const LeakFile& file) {
  return to_string(Shape{file.longs, file.shorts, file.mels, file.frames});
}

void require_same_layout(const LeakFile& file, const LeakFile& training) {
  if (layout_text(file) == layout_text(training)) return;
  throw DataError("[leak] " + file.path.string() + ": recordings must be " + layout_text(training) +
                  " as those of " + training.path.string() + ", got " + layout_text(file));
}

LeakSplits read_splits(const LeakData& data) {
  LeakSplits files{.training = read_leak_file(data.training)};
  files.validation = read_leak_file(data.validation, &files.training);
  files.testing = read_leak_file(data.testing, &files.training);
  require_same_layout(files.validation, files.training);
  require_same_layout(files.testing, files.training);
  return files;
}

}  // namespace

monitor::MemoryForecast LeakRecipe::plan() {
  std::vector<std::string> networks = models::network_names(models::Task::classification);
  networks.emplace_back(leak_network);
  check_network(config_.model, networks, {.channels = 1});
  files_ = read_splits(config_.data);
  training_ = plan_leak_data(files_.training, config_.data, device_);
  validation_ = plan_leak_data(files_.validation, config_.data, device_);
  testing_ = plan_leak_data(files_.testing, config_.data, device_);
  sources_ = {training_.outline, validation_.outline, testing_.outline};
  monitor::MemoryForecast forecast;
  forecast.add("data in memory",
               training_.resident_bytes + validation_.resident_bytes + testing_.resident_bytes);
  return forecast;
}

std::uint64_t LeakRecipe::open() {
  sources_ = {training_.open(), validation_.open(), testing_.open()};
  return training_.resident_bytes + validation_.resident_bytes + testing_.resident_bytes;
}

std::unique_ptr<training::Course> LeakRecipe::begin(const training::Member&) const {
  return std::make_unique<LeakCourse>(config_, files_, sources_, torch_device(device_));
}

std::map<std::string, std::string> LeakRecipe::notes() const {
  char normalisation[96];
  std::snprintf(normalisation, sizeof normalisation, statistics, files_.training.mean,
                files_.training.deviation);
  std::map<std::string, std::string> notes;
  if (config_.is_leak_cnn())
    notes["network"] = leak_network;
  else
    notes = network_notes(config_.model);
  notes.insert({{"task", "classification"},
                {"classes", "0 other, 1 LEAK"},
                {"normalisation", normalisation}});
  return notes;
}

void LeakRecipe::recall(const std::map<std::string, std::string>& notes) {
  const auto found = notes.find("normalisation");
  LeakFile& training = files_.training;
  if (found == notes.end() || std::sscanf(found->second.c_str(), "mean %lg, deviation %lg dB",
                                          &training.mean, &training.deviation) != 2)
    throw training::CheckpointError(
        "[leak] the checkpoint's normalisation must be \"mean M, deviation D dB\", got " +
        (found == notes.end() ? std::string("none") : '"' + found->second + '"'));
}

at::Tensor LeakRecipe::predicted(const at::Tensor& scores,
                                 std::span<const training::TensorMap> fitted) const {
  const std::optional<double> threshold = leak_threshold(fitted.front());
  if (!threshold) return Recipe::predicted(scores, fitted);
  return (scores.select(1, 1) >= *threshold).to(at::kLong);
}

std::vector<std::int64_t> LeakRecipe::test_on(const std::filesystem::path& data,
                                              const std::string& split) {
  if (!split.empty() && split != "all" && split != "test")
    throw ConfigError("[leak] " + data.string() +
                      ": a file of this kind is one part, --split may be all, got " + split +
                      "; name the file of that part");
  files_.testing = read_leak_file(data, &files_.training);
  sources_.testing = plan_leak_segments(files_.testing, config_.data.resident.value, {}).outline;
  return {};
}

Pipeline LeakRecipe::prediction(const std::filesystem::path& data,
                                const training::Feed& feed) const {
  const LeakFile file = read_leak_recordings(data, &files_.training);
  return leak_evaluation_pipeline(plan_leak_segments(file, config_.data.resident.value, {}).outline,
                                  feed.batch, feed.device);
}

std::unique_ptr<training::Recipe> leak_recipe(const JobConfig& config, Device device) {
  return std::make_unique<LeakRecipe>(dynamic_cast<const LeakConfig&>(config), device);
}

}  // namespace headrace::inline v1::app
