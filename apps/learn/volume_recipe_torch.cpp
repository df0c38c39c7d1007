#include <headrace/apps/job/stage_torch.h>
#include <headrace/apps/learn/picture_job.h>
#include <headrace/apps/learn/task_recipe_torch.h>
#include <headrace/apps/learn/volume_job.h>
#include <headrace/apps/learn/volume_recipe_torch.h>
#include <headrace/apps/task/find_volume_cases.h>
#include <headrace/apps/task/volume_copies.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/runtime/runtime.h>
#include <headrace/training/errors.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <numeric>
#include <variant>

#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {
namespace {

std::int64_t number_of(const std::map<std::string, std::string>& notes, const char* name) {
  const std::string& text = note_of(notes, name);
  std::int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed == std::errc() && end == text.data() + text.size()) return value;
  throw training::CheckpointError(std::string("[weights] note \"") + name +
                                  "\" must be a number, got \"" + text + '"');
}

void require_figure(const std::string& key, const std::string& figure) {
  if (figure != "loss") return;
  throw ConfigError("[config] " + key +
                    " must be a figure of whole volumes, as mean_dice, got "
                    "loss: windows that were put together have none");
}

std::size_t two_largest(const VolumeSet& set, std::int64_t outputs, Device device) {
  std::vector<std::size_t> bytes;
  for (const PreparedCase& one : set.prepared)
    bytes.push_back(held_of_volume(one.extent, outputs, device));
  std::ranges::sort(bytes, std::greater());
  bytes.resize(std::min<std::size_t>(bytes.size(), 2));
  return std::accumulate(bytes.begin(), bytes.end(), std::size_t{0});
}

// Cases that can be judged.
std::vector<NnUNetCase> labelled_cases(const std::filesystem::path& data, const VolumeTask& task,
                                       const std::vector<std::string>& classes, bool by_number) {
  std::vector<NnUNetCase> cases = find_volume_cases(
      data, {.channels = task.channels, .judged = true, .follow_links = task.follow_links});
  if (is_nnunet_raw(data)) {
    const std::vector<std::string> theirs =
        volume_classes(read_nnunet_raw(data, task.follow_links));
    if (by_number ? theirs.size() != classes.size() : theirs != classes)
      throw ConfigError("[evaluate] " + data.string() + ": must have the classes trained on, " +
                        nlohmann::json(classes).dump() + ", got " + nlohmann::json(theirs).dump());
  }
  for (const NnUNetCase& one : cases)
    if (one.label.empty())
      throw ConfigError("[evaluate] " + data.string() +
                        ": every case must have a label to be "
                        "judged by, " +
                        one.name +
                        " has none; put it into the folder beside the "
                        "images (labelsTs beside imagesTs)");
  return cases;
}

}  // namespace

void VolumeRecipe::check_terms(const LossList& loss) const {
  for (const LossEntry& entry : loss)
    if (is_binary(entry))
      throw ConfigError("[config] loss: " + name_of(entry) +
                        " judges masks of pictures; the classes of volumes exclude each other, "
                        "take cross_entropy, dice or iou");
}

void VolumeRecipe::check_before_reading() const {
  const TaskSettings& task = config_->task;
  for (const training::Stage& stage : stages_of(*config_))
    check_terms(dynamic_cast<const TaskConfig&>(config_->of_stage(stage.number)).task.loss);
  require_figure("selected_by", task.selected_by);
  for (const training::Stage& stage : stages_of(*config_))
    if (const auto* plateau = std::get_if<training::PlateauOptions>(&stage.schedule))
      require_figure("training.schedule.figure", plateau->figure);
  if (task.data.train.folder.empty() || !is_nnunet_raw(task.data.train.folder)) return;
  const auto channels = static_cast<std::int64_t>(
      read_nnunet_raw(task.data.train.folder, task.data.follow_links).channels.size());
  check_network(task.model, models::network_names(models::Task::segmentation),
                volume_shape(task.volume, outputs(2), channels));
}

monitor::MemoryForecast VolumeRecipe::plan() {
  check_before_reading();  // preparing takes long
  records_ = open_volumes(*config_, expected());
  test_ = records_.set;
  channels_ = records_.set.channels();
  for (const training::Stage& stage : stages_of(*config_)) {
    const auto& of_stage = dynamic_cast<const TaskConfig&>(config_->of_stage(stage.number));
    for (const SplitParts& one : records_.members)
      require_batch("",
                    of_stage.task.data.samples_of(static_cast<std::int64_t>(one.train.size()) *
                                                  of_stage.task.volume.patches),
                    stage.batch);
  }
  monitor::MemoryForecast forecast;
  forecast.add("decoded blocks, indexes of volumes", records_.set.resident_bytes());
  const std::size_t sums = two_largest(records_.set, outputs(), device_);
  if (sums > 0) forecast.add("sums of the largest volumes", sums, "of windows, with labels");
  return forecast;
}

std::vector<training::Member> VolumeRecipe::members() const {
  return members_of_parts(records_.members);
}

std::string VolumeRecipe::records_word() const {
  std::string names;
  for (const PreparedCase& one : records_.set.prepared)
    names += one.name + '\n';
  return std::to_string(records_.set.prepared.size()) + " cases, names " +
         std::to_string(hash_name(names));
}

std::map<std::string, std::string> VolumeRecipe::notes() const {
  const VolumeSettings& volume = config_->task.volume;
  std::map<std::string, std::string> notes = network_notes(config_->task.model);
  notes.merge(task_notes(task_name(), records_.classes, to_string(volume.preparation)));
  notes["channels"] = std::to_string(channels_);
  notes["patch"] = nlohmann::json(volume.patch).dump();
  notes["spacing"] = nlohmann::json(volume.preparation.spacing).dump();
  if (records_.ignore) notes["ignore"] = std::to_string(*records_.ignore);
  if (!records_.copies.empty()) notes["copies"] = records_.copies;
  return notes;
}

void VolumeRecipe::recall(const std::map<std::string, std::string>& notes) {
  records_ = {.classes = classes_of_notes(notes)};
  channels_ = number_of(notes, "channels");
  if (notes.contains("ignore")) records_.ignore = number_of(notes, "ignore");
  test_ = {};
}

std::unique_ptr<training::Course> VolumeRecipe::begin(const training::Member& member) const {
  return std::make_unique<VolumeCourse>(parts(member));
}

VolumeCourse::Parts VolumeRecipe::parts(const training::Member& member) const {
  return {.config = config_,
          .records = records_,
          .test = test_,
          .channels = channels_,
          .outputs = outputs(),
          .member = member,
          .trains = !records_.set.cases.empty()};
}

std::vector<std::int64_t> VolumeRecipe::test_on(const std::filesystem::path& data,
                                                const std::string& split) {
  if (!split.empty() && split != "all")
    throw ConfigError("[evaluate] --split " + split + ": " + data.string() +
                      " must have parts, volumes have none; leave it out to judge all");
  const VolumeTask task = volume_task();
  const std::vector<NnUNetCase> cases =
      labelled_cases(data, task, records_.classes, /*by_number=*/!expected().names.empty());
  std::vector<std::int64_t> values(records_.classes.size());
  std::iota(values.begin(), values.end(), 0);
  if (records_.ignore) values.push_back(*records_.ignore);
  judged_ = cases;
  std::vector<PreparedCase> prepared =
      prepare_volumes(cases,
                      {.folder = prepared_folder(data, task.volume),
                       .threads = task.threads,
                       .values = std::move(values)},
                      task.volume.preparation);
  return test_on(
      open_prepared(std::move(prepared),
                    naming_labels(task.volume, static_cast<std::int64_t>(records_.classes.size())),
                    records_.ignore));
}

PlacedList VolumeRecipe::placed(training::Split, std::vector<std::int64_t> records) const {
  return placed_list(judged_.empty() ? records_.cases : judged_, std::move(records));
}

VolumeTask VolumeRecipe::volume_task() const {
  const int threads = config_->threads.loader;
  return {.volume = config_->task.volume,
          .predict = config_->task.predict.volume,
          .channels = static_cast<std::size_t>(channels_),
          .classes = static_cast<std::int64_t>(records_.classes.size()),
          .ignore = records_.ignore,
          .threads = threads > 0 ? threads : usable_cores(),
          .follow_links = config_->task.data.follow_links};
}

std::array<std::int64_t, 3> VolumeRecipe::largest_extent() const {
  std::array<std::int64_t, 3> largest{};
  for (const PreparedCase& one : records_.set.prepared)
    if (voxels_of(one.extent) > voxels_of(largest)) largest = one.extent;
  return largest;
}

std::vector<std::int64_t> VolumeRecipe::test_on(VolumeSet set) {
  test_ = std::move(set);
  std::vector<std::int64_t> all(test_.cases.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace headrace::inline v1::app
