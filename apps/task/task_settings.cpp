#include <headrace/apps/task/task_settings.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/nearest.h>

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::inline v1::app {

void describe(Fields& fields, ImbalanceSettings& imbalance) {
  fields.choice("sampler", imbalance.sampler,
                {{"shuffled", Sampler::shuffled}, {"balanced", Sampler::balanced}},
                {.doc = "balanced: every class is drawn as often, its records with replacement"});
  fields.choice("weights", imbalance.weights,
                {{"none", LossWeights::none},
                 {"inverse", LossWeights::inverse},
                 {"effective", LossWeights::effective}},
                {.doc = "of the classes in the loss, by the records to train on: inverse of their "
                        "number, or of their effective number (beta 0.999); of several "
                        "classes a record, without by with the class"});
}

void check(const ImbalanceSettings& imbalance) {
  if (imbalance.sampler == Sampler::balanced && imbalance.weights != LossWeights::none)
    throw ConfigError(
        "[config] imbalance: sampler balanced and weights would count rare classes twice; set one "
        "of them");
}

void check_figure(const std::string& key, const std::string& word,
                  std::span<const std::string> figures) {
  const bool known = std::any_of(figures.begin(), figures.end(), [&](const std::string& figure) {
    return figure.ends_with('_') ? word.starts_with(figure) : word == figure;
  });
  if (known) return;
  throw ConfigError(fmt::format("[config] key \"{}\" must be one of {}, got \"{}\"{}", key,
                                fmt::join(figures, ", "), word, did_you_mean(word, figures)));
}

namespace {

void check_loss(const LossList& loss) {
  if (loss.empty()) throw ConfigError("[config] loss must have a term, got []");
  const auto binary = std::find_if(loss.begin(), loss.end(), is_binary);
  const auto classes = std::find_if(loss.begin(), loss.end(), [](const LossEntry& entry) {
    return std::holds_alternative<CrossEntropyTerm>(entry.term);
  });
  if (binary != loss.end() && classes != loss.end())
    throw ConfigError(fmt::format(
        "[config] {}: {} judges every label by itself, cross_entropy ({}) classes that exclude "
        "each other; take one of them",
        binary->place.text(), name_of(*binary), classes->place.text()));
  if (std::all_of(loss.begin(), loss.end(), [](const LossEntry& entry) {
        return std::holds_alternative<EdgeTerm>(entry.term);
      }))
    throw ConfigError(fmt::format(
        "[config] {}: edge takes a mask for its opposite, which has the same edges; put another "
        "term beside it, such as bce",
        loss.front().place.text()));
  if (std::all_of(loss.begin(), loss.end(), [](const LossEntry& entry) {
        return std::holds_alternative<TopologyTerm>(entry.term);
      }))
    throw ConfigError(fmt::format(
        "[config] {}: topology moves a few voxels of some steps; put another term beside it, such "
        "as bce",
        loss.front().place.text()));
}

// Between classes that exclude each other there is nothing.
void check_resize(const LossList& loss, bool of_volumes) {
  for (const LossEntry& entry : loss) {
    if (entry.resize == TargetResize::nearest) continue;
    const bool classes = std::holds_alternative<CrossEntropyTerm>(entry.term);
    if (!of_volumes && !classes) continue;
    throw ConfigError(fmt::format(
        "[config] {}: resize: bilinear makes soft masks of pictures, for scores of sigmoids; {} "
        "have none, take nearest",
        entry.place.text(), of_volumes ? "volumes" : "the classes of cross_entropy"));
  }
}

}  // namespace

void describe(Fields& fields, TaskSettings& task, bool masks) {
  const auto of_volumes = [&task] { return holds_volumes(task.data); };
  KeyOptions image{
      .doc = "what a picture becomes",
      .used_if = [&task] { return !holds_arrays(task.data) && !holds_volumes(task.data); },
      .used_when =
          fmt::format("data.train.source is {}, manifest or pack", masks ? "pairs" : "images")};
  fields.section(
      "image", [&](Fields& f) { describe(f, task.image, !masks); }, std::move(image));
  if (masks)
    fields.section("volume", [&](Fields& f) { describe(f, task.volume); },
                   {.doc = "what a volume becomes, and what is cut out of it",
                    .used_if = of_volumes,
                    .used_when = "data.train.source is volumes"});
  else
    fields.section("array", [&](Fields& f) { describe(f, task.array); },
                   {.doc = "what an array becomes",
                    .used_if = [&task] { return holds_arrays(task.data); },
                    .used_when = "data.train.source is npy or hdf5"});
  describe_augment(fields, task.augment);
  fields.section("model", [&](Fields& f) { describe(f, task.model); }, {.doc = "the network"});
  const LossFor judged = task.sheets ? LossFor::sheets : LossFor::masks;
  describe_loss(fields, task.loss, masks ? judged : LossFor::labels);
  if (!masks)
    fields.section("imbalance", [&](Fields& f) { describe(f, task.imbalance); },
                   {.doc = "what is done about classes of different sizes"});
  fields.key("selected_by", task.selected_by,
             {.doc = "figure of the validation by which the best weights are selected"});
  fields.section("predict",
                 [&](Fields& f) {
                   describe(f, task.predict,
                            masks ? std::function<bool()>(of_volumes) : std::function<bool()>());
                 },
                 {.doc = "how scores become decisions"});
}

void check(const TaskSettings& task, std::span<const std::string> figures) {
  check(task.data);
  if (holds_volumes(task.data)) {
    check(task.volume);
    check(task.predict.volume);
    if (task.data.epoch_size > 0 && task.volume.visit > 1)
      throw ConfigError(fmt::format(
          "[config] volume.visit must be 1 where data.epoch_size says how many patches an epoch "
          "has, got {}; leave one of them out",
          task.volume.visit));
  }
  check(task.image);
  check(task.model);
  check(task.imbalance);
  check_loss(task.loss);
  check_resize(task.loss, holds_volumes(task.data));
  check_figure("selected_by", task.selected_by, figures);
  if (!flipped_axes(task.predict).empty() && holds_arrays(task.data))
    throw ConfigError(
        "[config] predict.tta: flips are of pictures, but data.train has arrays; leave it out");
}

}  // namespace headrace::inline v1::app
