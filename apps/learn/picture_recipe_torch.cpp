#include <headrace/apps/feed/image_data.h>
#include <headrace/apps/learn/picture_job.h>
#include <headrace/apps/learn/picture_recipe_torch.h>
#include <headrace/apps/learn/task_recipe_torch.h>
#include <headrace/apps/task/array_data.h>
#include <headrace/apps/task/channel_statistics.h>
#include <headrace/apps/task/check_judged.h>
#include <headrace/apps/task/check_masks.h>
#include <headrace/apps/task/find_data.h>
#include <headrace/apps/task/find_datasets.h>
#include <headrace/apps/task/network_torch.h>
#include <headrace/engine/base/error.h>
#include <headrace/training/errors.h>
#include <headrace/training/evaluation/vote.h>

#include <iterator>
#include <optional>
#include <span>
#include <variant>

namespace headrace::inline v1::app {
namespace {

// "[64, 128]", as to_string() writes it.
Shape shape_of_note(const std::string& text) {
  std::vector<std::int64_t> extents;
  std::string word;
  for (const char letter : text) {
    if (letter >= '0' && letter <= '9') {
      word += letter;
    } else if (!word.empty()) {
      extents.push_back(std::stoll(word));
      word.clear();
    }
  }
  if (extents.empty() || extents.size() > 3)
    throw training::CheckpointError(
        "[weights] note \"array\" must be the shape of a record, as [64, 128], got \"" + text +
        '"');
  return Shape(std::span<const std::int64_t>(extents));
}

// Records of data that are judged: all of a part, else those of `split`.
std::vector<std::int64_t> rows_to_judge(const LabelledSource& test, bool is_part,
                                        const std::string& split) {
  const std::vector<DataSplit> said = test.splits();
  if (is_part || split == "all" || (said.empty() && split.empty())) return all_rows(test);
  if (said.empty())
    throw ConfigError("[evaluate] --split " + split + ": " + test.name() +
                      " must have parts (folders, or a column \"split\"), has none; leave --split "
                      "out to judge all of it");
  const DataSplit wanted = split.empty() ? DataSplit::test : split_named(split).value();
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < test.size(); ++i)
    if (said[static_cast<std::size_t>(i)] == wanted) rows.push_back(i);
  if (rows.empty())
    throw DataError("[evaluate] " + test.name() + ": must have a record of the part, has none");
  return rows;
}

}  // namespace

std::vector<ChannelStatistics> PictureRecipe::resolve() const {
  const LabelledSource& arrays_of = *records_.train.source;
  const Normalise& normalise = task_.image.normalise;
  const auto of = [&](const SplitParts& member) {
    if (arrays())
      return array_statistics(task_.array, channels_of(record_), [&] {
        return statistics_of_arrays(arrays_of, member.train, bad_samples());
      });
    if (std::holds_alternative<NormaliseAsWeights>(normalise))
      return statistics_of_weights(task_.model);
    if (const auto* values = std::get_if<NormaliseBy>(&normalise))
      return ChannelStatistics{.mean = values->mean, .std = values->std};
    if (std::holds_alternative<NormaliseAsImageNet>(normalise)) return imagenet_statistics();
    return statistics_of(records_.train.source, member.train, task_.image, bad_samples());
  };
  const bool by_data = arrays() ? std::holds_alternative<NormaliseAsData>(task_.array.normalise)
                                : std::holds_alternative<NormaliseAsData>(normalise);
  std::vector<ChannelStatistics> all;
  for (const SplitParts& member : records_.members)
    if (by_data || all.empty()) all.push_back(of(member));
  return all;
}

const ChannelStatistics& PictureRecipe::statistics_of_member(std::int64_t index) const {
  if (statistics_.size() == 1) return statistics_.front();
  if (index >= 0 && index < std::ssize(statistics_))
    return statistics_[static_cast<std::size_t>(index)];
  throw training::CheckpointError(
      "[weights] the member must be one of the " + std::to_string(statistics_.size()) +
      " that note \"normalisation\" is of, got number " + std::to_string(index));
}

NetworkShape PictureRecipe::shape() const {
  return input_shape(static_cast<std::int64_t>(classes_.size()), task_.image.decode.side, record_);
}

TaskRecords PictureRecipe::listed() const {
  return open_records(task_.data, mask_.has_value(), config_->seed);
}

monitor::MemoryForecast PictureRecipe::plan() {
  const auto check = [&] {
    check_network(
        task_.model,
        models::network_names(mask_ ? models::Task::segmentation : models::Task::classification),
        shape());
  };
  if (!arrays()) check();
  records_ = listed();
  records_word_ = app::records_word(*records_.train.source);
  for (const RecordSet* part : {&records_.validation, &records_.test})
    if (part->source != records_.train.source)
      records_word_ += "; " + app::records_word(*part->source);
  require_trainable(*config_, records_);
  classes_ = class_names();
  if (arrays()) {
    record_ = record_shape(*records_.train.source, task_.array);
    check();
  }
  statistics_ = resolve();
  monitor::MemoryForecast forecast;
  const std::size_t held = records_.resident_bytes();
  if (held > 0) forecast.add("data in memory", held);
  return forecast;
}

// What a run goes on with does not end it.
BadSampleSettings PictureRecipe::bad_samples() const {
  BadSampleSettings bad = config_->bad_samples;
  if (config_->goes_on) bad.rule = BadSamples::Rule::shrink;
  return bad;
}

std::uint64_t PictureRecipe::open() {
  const BadSampleSettings bad = bad_samples();
  if (mask_) check_masks(records_, feed(), bad);
  load(records_);
  check_judged(records_, {.decode = feed().task.data.decode,
                          .must_be_sound = bad.rule == BadSamples::Rule::fail,
                          .may_be_gone = config_->goes_on,
                          .listings = task_.data.listings});
  return records_.resident_bytes();
}

std::vector<training::Member> PictureRecipe::members() const {
  return members_of_parts(records_.members);
}

std::map<std::string, std::string> PictureRecipe::notes() const {
  std::map<std::string, std::string> notes = network_notes(task_.model);
  notes.merge(
      task_notes(mask_ ? "segmentation" : "classification", classes_, to_text(statistics_)));
  if (arrays()) notes["array"] = to_string(record_);
  if (!records_.copies.empty()) notes["copies"] = records_.copies;
  return notes;
}

void PictureRecipe::recall(const std::map<std::string, std::string>& notes) {
  classes_ = classes_of_notes(notes);
  statistics_ = parse_members_statistics(note_of(notes, "normalisation"));
  if (arrays()) record_ = shape_of_note(note_of(notes, "array"));
}

Pipeline PictureRecipe::prediction(const std::filesystem::path& data,
                                   const training::Feed& feed) const {
  DataSet like = task_.data.train;
  if (!root_.empty()) like.root = root_;
  if (!arrays()) {
    ImageData pictures_of{.data = data, .follow_links = task_.data.follow_links};
    if (is_list(data)) {
      pictures_of.root = like.root;
      pictures_of.columns.path = like.columns.path;
    }
    const auto pictures = open_pictures(pictures_of);
    return evaluation_pipeline(pictures, this->feed(), feed.batch, feed.device);
  }
  const auto records = open_unlabelled_arrays(data, like, record_, task_.data.follow_links);
  require_record(*records, task_.array, record_);
  return evaluation_pipeline(records, this->feed(), feed.batch, feed.device);
}

// As they are found; what only the configuration says of such data is taken from there.
FoundData PictureRecipe::found_in(const std::filesystem::path& data) const {
  const DataSet& like = task_.data.train;
  if (like.source == RecordsIn::hdf5 && is_hdf5(data))
    return {.train = {.source = RecordsIn::hdf5,
                      .file = data,
                      .data = like.data,
                      .labels = like.labels,
                      .classes = like.classes,
                      .multi_label = like.multi_label}};
  FoundData found = mask_ ? find_masks(data, {}, {}, task_.data.follow_links)
                          : find_classes(data, task_.data.follow_links);
  if (holds_arrays(found.train.source) != arrays())
    throw ConfigError("[evaluate] " + data.string() + ": must hold " +
                      (arrays() ? "arrays" : "pictures") + " as the data trained on, got " +
                      (arrays() ? "pictures" : "arrays"));
  DataSet& set = found.train;
  if (set.source == RecordsIn::manifest || is_list(set.file)) {
    set.columns = like.columns;
    set.root = root_.empty() ? like.root : root_;
  }
  if (arrays()) set.multi_label = like.multi_label;
  for (DataSet* one : {&found.train, found.validation ? &*found.validation : nullptr,
                       found.test ? &*found.test : nullptr})
    if (one != nullptr && one->source == RecordsIn::pairs && like.source == RecordsIn::pairs) {
      one->spare_masks = one->spare_masks || like.spare_masks;
      one->spare_pictures = one->spare_pictures || like.spare_pictures;
    }
  return found;
}

std::vector<std::int64_t> PictureRecipe::test_on(const std::filesystem::path& data,
                                                 const std::string& split) {
  const FoundData found = found_in(data);
  const std::optional<DataSet> part = part_of(found, split);
  TaskData quiet;
  quiet.listings.clear();
  quiet.follow_links = task_.data.follow_links;
  judged_set_ = part.value_or(found.train);
  records_.test = open_set(*judged_set_, quiet, "data.test", mask_.has_value(), classes_);
  const bool parts = part.has_value() || !records_.test.source->splits().empty();
  judged_part_ = !split.empty() ? split : parts ? "test" : "all";
  if (arrays()) require_record(*records_.test.source, task_.array, record_);
  judged_ =
      judged(*records_.test.source, rows_to_judge(*records_.test.source, part.has_value(), split));
  return judged_;
}

PlacedList PictureRecipe::placed(training::Split split, std::vector<std::int64_t> records) const {
  using enum training::Split;
  const RecordSet& set = split == train        ? records_.train
                         : split == validation ? records_.validation
                                               : records_.test;
  const DataSet& own = split == validation ? task_.data.validation : task_.data.test;
  const DataSet& data = split == train || !own.is_given() ? task_.data.train : own;
  return placed_list(set.source, judged_set_.value_or(data), std::move(records));
}

std::vector<std::int64_t> PictureRecipe::judged(const LabelledSource&,
                                                std::vector<std::int64_t> rows) const {
  return rows;
}

std::unique_ptr<training::Metric> PictureRecipe::metric_of_vote(
    std::span<const training::TensorMap> fitted) const {
  const std::vector<training::Member> all = members();
  return begin(all.empty() ? training::Member{.test = judged_} : all.front())
      ->metric(training::Split::test, training::mean_of(fitted));
}

PictureCourse::Parts PictureRecipe::parts(const training::Member& member) const {
  const ChannelStatistics& own = statistics_of_member(member.index);
  return {.config = config_,
          .feed = arrays() ? feed_by(own) : feed(),
          .records = records_,
          .member = member,
          .record = record_,
          .statistics = own,
          .trains = records_.train.source != nullptr};
}

TaskFeed PictureRecipe::feed_by(const ChannelStatistics& statistics) const {
  return task_feed({.config = *config_, .mask = mask_}, static_cast<std::int64_t>(classes_.size()),
                   statistics);
}

// A batch may go through the networks of several folds, each with statistics of its own.
TaskFeed PictureRecipe::feed() const {
  return feed_by(statistics_.size() > 1 && !arrays() ? imagenet_statistics() : statistics_.front());
}

}  // namespace headrace::inline v1::app
