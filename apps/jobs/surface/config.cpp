#include <headrace/apps/feed/augment.h>
#include <headrace/apps/jobs/surface/config.h>
#include <headrace/apps/learn/task_config.h>
#include <headrace/apps/learn/volume_job.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

const std::array<std::string, 4> figures{"surface_dice_2", "voxel_dice_2", "dice", "iou"};

// The network's deep outputs.
constexpr double deep_outputs = 3.0;
// What the original job gives each of them of the composite.
constexpr double deep_share = 0.5;

constexpr const char* usual_augment =
    "[{spatial: {}}, {deep_supervision_targets: {rule: surface, sides: down, factors: [[2, 2, 2], "
    "[4, 4, 4], [8, 8, 8]]}}, soft_skeleton, {betti_targets: {side: 32}}]";

LossEntry of(double factor, decltype(LossEntry::term) term) {
  return {.term = std::move(term), .factor = factor};
}

LossEntry on_deep(LossEntry entry) {
  entry.factor *= deep_share * deep_outputs;
  entry.on = "deep";
  entry.shares = DeepShares::equal;
  return entry;
}

bool is_topology(const LossEntry& entry) {
  return std::holds_alternative<TopologyTerm>(entry.term);
}

// What the list augment makes for a term must be what the term looks at.
void check_beside(const LossEntry& entry, const AugmentList& augment) {
  if (const auto* term = std::get_if<TopologyTerm>(&entry.term)) {
    const std::optional<std::int64_t> side = betti_side(augment);
    if (side && *side != term->side)
      throw ConfigError(fmt::format(
          "[config] {}: topology must have the side of betti_targets in augment, {}, got {}",
          entry.place.text(), *side, term->side));
  }
  const std::optional<SkeletonMade> made = soft_skeleton_made(augment);
  const auto check = [&](std::int64_t iterations, SkeletonBy by) {
    const SkeletonMade wanted{.iterations = iterations, .cube = by == SkeletonBy::cube};
    if (entry.on == "main" && made && *made != wanted)
      throw ConfigError(fmt::format(
          "[config] {}: {} must have iterations and by of soft_skeleton in augment, got others; "
          "make them the same, or leave soft_skeleton out",
          entry.place.text(), name_of(entry)));
  };
  if (const auto* term = std::get_if<ClDiceTerm>(&entry.term)) check(term->iterations, term->by);
  if (const auto* term = std::get_if<SkeletonTerm>(&entry.term)) check(term->iterations, term->by);
}

void check_predict(const VolumePredictSettings& predict) {
  if (predict.smallest == 0 && !predict.largest_only && predict.closing == 0) return;
  throw ConfigError(
      "[config] predict.smallest, predict.largest_only and predict.closing are chosen by the "
      "validation here; give decision.smallest, decision.keep and decision.closing instead");
}

bool judges_regions(const LossEntry& entry) {
  return std::holds_alternative<BinaryCrossEntropyTerm>(entry.term) ||
         std::holds_alternative<DiceTerm>(entry.term);
}

}  // namespace

VolumeClasses surface_classes() {
  return {.names = {"background", "surface"}, .ignore = 2};
}

LossList composite_loss(CompositeOutputs composite, bool deep) {
  LossList list{of(0.35, BinaryCrossEntropyTerm{.positive = 2.8}),
                of(0.35, DiceTerm{.smooth = 1.0}), of(0.10, ClDiceTerm{}), of(0.08, SkeletonTerm{}),
                of(0.07, SurfaceDistanceTerm{})};
  const std::size_t at_full_size = list.size();
  for (std::size_t i = 0; deep && i < at_full_size; ++i)
    if (composite == CompositeOutputs::every_scale || judges_regions(list[i]))
      list.push_back(on_deep(list[i]));
  list.push_back(of(0.001, TopologyTerm{.every = 20, .after = 8}));
  return list;
}

SurfaceConfig::SurfaceConfig() {
  task.sheets = true;
  task.data.train.source = RecordsIn::volumes;
  task.data.validation.source = RecordsIn::volumes;
  task.data.test.source = RecordsIn::volumes;
  task.volume.patch = {72, 136, 136};
  task.volume.sampling.foreground = 0.65;
  task.augment = augment_list(usual_augment);
  task.loss = composite_loss(composite, true);
  task.model.name = "residual_unet3d";
  task.selected_by = figure_of(leaderboard_tolerance);
  training = {.epochs = 32,
              .batch = 2,
              .evaluation_batch = 2,
              .learning_rate = 6e-4,
              .weight_decay = 0.01,
              .schedule = training::OneCycleRate{.pct = 0.2, .div = 10.0, .final_div = 1e4},
              .clip = 0.8,
              .ema = 0.998,
              .checkpointed = {"bottleneck", "decoder_blocks"},
              .early_stopping = 0};
}

void SurfaceConfig::describe_keys(Fields& fields) {
  describe_task(fields, *this, task, true);
  fields.choice("composite", composite,
                {{"full-scale", CompositeOutputs::full_scale},
                 {"every-scale", CompositeOutputs::every_scale}},
                {.doc = "where loss is not given: its terms at full size, with cross entropy and "
                        "Dice alone at the others, or all of them at every one, as the original"});
  fields.section("decision", [this](Fields& f) { describe(f, decision); },
                 {.doc = "ways to make labels of probabilities, of which the validation takes the "
                         "best (by surface_dice_2) and keeps it with the weights"});
  fields.section("score", [this](Fields& f) { describe(f, score); },
                 {.doc = "what the test is measured with"});
}

void SurfaceConfig::settle(const Fields& read) {
  const bool deep = !is_residual_unet3d(task.model) || task.model.deep_supervision;
  if (!read.was_set("loss")) task.loss = composite_loss(composite, deep);
}

std::span<const std::string> SurfaceConfig::plateau_figures() const {
  return figures;
}

void SurfaceConfig::check() const {
  JobConfig::check();
  if (!holds_volumes(task.data))
    throw ConfigError(
        "[config] data.train.source must be volumes for surface; take kind: segmentation for "
        "masks of pictures");
  app::check(task, figures);
  app::check(decision);
  app::check(score);
  check_predict(task.predict.volume);
  for (const LossEntry& entry : task.loss)
    check_beside(entry, task.augment);
  if (std::ranges::count_if(task.loss, is_topology) > 1)
    throw ConfigError("[config] loss must have topology once, got it several times");
}

LoaderJob SurfaceConfig::loader_job() const {
  return volume_loader_job(*this, surface_classes());
}

std::vector<DataPart> SurfaceConfig::data_parts() const {
  return volume_data_parts(*this, surface_classes());
}

}  // namespace headrace::inline v1::app
