#include <headrace/apps/feed/image_data.h>
#include <headrace/apps/jobs/picture_job.h>
#include <headrace/apps/jobs/picture_recipe_torch.h>
#include <headrace/apps/task/find_data.h>
#include <headrace/apps/task/network_torch.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_files.h>
#include <headrace/training/checkpoint_error.h>

#include <optional>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {
namespace {

ChannelStatistics resolve(const TaskSettings& task, const TaskRecords& records) {
  const Normalise& normalise = task.image.normalise;
  if (std::holds_alternative<NormaliseAsWeights>(normalise))
    return statistics_of_weights(task.model);
  if (const auto* values = std::get_if<NormaliseBy>(&normalise))
    return {.mean = values->mean, .std = values->std};
  if (std::holds_alternative<NormaliseAsImageNet>(normalise)) return imagenet_statistics();
  // What is tested is not looked at; folds share the rest.
  std::vector<std::int64_t> rows = records.members.front().train;
  if (records.validation == records.train) {
    const auto& more = records.members.front().validation;
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return statistics_of(records.train, rows, task.image.decode.side);
}

const std::string& note(const std::map<std::string, std::string>& notes, const char* name) {
  const auto found = notes.find(name);
  if (found != notes.end()) return found->second;
  throw training::CheckpointError(std::string("[weights] the file must have the note \"") + name +
                                  "\", has not; take a file that headrace train has written");
}

}  // namespace

monitor::MemoryForecast PictureRecipe::plan() {
  check_network(task_.model, mask_ ? models::Task::segmentation : models::Task::classification);
  records_ = open_records(task_.data, mask_.has_value(), config_->seed);
  classes_ = class_names();
  statistics_ = resolve(task_, records_);
  return {};
}

std::vector<training::Member> PictureRecipe::members() const {
  std::vector<training::Member> members;
  for (const SplitParts& parts : records_.members) {
    const auto index = static_cast<std::int64_t>(members.size());
    members.push_back(
        {.index = index,
         .name = records_.members.size() > 1 ? "fold-" + std::to_string(index) : "run",
         .train = parts.train,
         .validation = parts.validation,
         .test = parts.test});
  }
  return members;
}

std::map<std::string, std::string> PictureRecipe::notes() const {
  return {{"task", mask_ ? "segmentation" : "classification"},
          {"network", network_name(task_.model)},
          {"classes", std::to_string(classes_.size())},
          {"class_names", nlohmann::json(classes_).dump()},
          {"normalisation", to_text(statistics_)}};
}

void PictureRecipe::recall(const std::map<std::string, std::string>& notes) {
  try {
    classes_ = nlohmann::json::parse(note(notes, "class_names")).get<std::vector<std::string>>();
  } catch (const nlohmann::json::exception& error) {
    throw training::CheckpointError(std::string("[weights] note \"class_names\" must be a list of "
                                                "names: ") +
                                    error.what());
  }
  statistics_ = parse_statistics(note(notes, "normalisation"));
}

Pipeline PictureRecipe::prediction(const std::filesystem::path& data,
                                   const training::Feed& feed) const {
  return evaluation_pipeline(open_pictures(data), this->feed(), feed.batch, feed.device);
}

std::vector<std::int64_t> PictureRecipe::test_on(const std::filesystem::path& data,
                                                 const std::string& split) {
  const FoundData found = mask_ ? find_masks(data) : find_classes(data);
  const auto part =
      split.empty() || split == "all" ? std::optional(DataSplit::test) : split_named(split);
  if (!part)
    throw ConfigError("[evaluate] --split must be train, validation, test or all, got \"" + split +
                      '"');
  DataSet set = found.train;
  if (*part == DataSplit::validation && found.validation) set = *found.validation;
  if (*part == DataSplit::test && found.test) set = *found.test;
  if (set.source == RecordsIn::manifest) set.columns = task_.data.train.columns;
  TaskData quiet;
  quiet.listings.clear();
  records_.test = open_set(set, quiet, "data.test", mask_.has_value(), classes_);
  const std::vector<DataSplit> said = records_.test->splits();
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < records_.test->size(); ++i)
    if (said.empty() || split == "all" || said[static_cast<std::size_t>(i)] == *part)
      rows.push_back(i);
  if (rows.empty())
    throw DataError("[evaluate] " + data.string() + ": must have a record of the part, has none");
  return rows;
}

PictureCourse::Parts PictureRecipe::parts(const training::Member& member) const {
  return {.config = config_,
          .feed = feed(),
          .records = records_,
          .member = member,
          .trains = records_.train != nullptr};
}

TaskFeed PictureRecipe::feed() const {
  return task_feed({.config = *config_, .task = task_, .mask = mask_},
                   static_cast<std::int64_t>(classes_.size()), statistics_);
}

}  // namespace headrace::inline v1::app
