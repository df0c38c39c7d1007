#include <headrace/apps/task/loss_settings.h>

#include <array>
#include <functional>
#include <utility>

namespace headrace::inline v1::app {
namespace {

constexpr std::array<const char*, 11> term_names{"cross_entropy",
                                                 "bce",
                                                 "dice",
                                                 "iou",
                                                 "edge",
                                                 "structure",
                                                 "cldice",
                                                 "skeleton",
                                                 "skeleton_recall",
                                                 "surface_distance",
                                                 "topology"};

KeyOptions focus() {
  return {.doc = "of the focal form, by which what is right already counts less; 0: none",
          .min = 0.0,
          .max = 10.0};
}

void describe(Fields& fields, CrossEntropyTerm& term) {
  fields.key(
      "smoothing", term.smoothing,
      {.doc = "share of each target that is spread over all classes", .min = 0.0, .below = 1.0});
  fields.key("gamma", term.gamma, focus());
}

void describe(Fields& fields, BinaryCrossEntropyTerm& term) {
  fields.key("gamma", term.gamma, focus());
  fields.key("positive", term.positive,
             {.doc = "weight of what is there against what is not", .above = 0.0, .max = 1e4});
}

void describe_background(Fields& fields, bool& background) {
  fields.key("background", background, {.doc = "class 0 counts, too"});
}

void describe(Fields& fields, DiceTerm& term) {
  describe_background(fields, term.background);
  fields.key("batch", term.batch, {.doc = "over all pictures of a batch at once"});
  fields.key("smooth", term.smooth, {.doc = "added above and below", .min = 0.0, .max = 1000.0});
}

void describe(Fields& fields, IouTerm& term) {
  describe_background(fields, term.background);
  fields.key("smooth", term.smooth, {.doc = "added above and below", .min = 0.0, .max = 1000.0});
}

void describe(Fields& /*fields*/, EdgeTerm& /*term*/) {}

void describe(Fields& fields, StructureTerm& term) {
  fields.key("legacy", term.legacy,
             {.doc = "the published code's form, whose cross entropy is not weighted"});
}

void describe_skeleton(Fields& fields, std::int64_t& iterations, SkeletonBy& by) {
  fields.key("iterations", iterations,
             {.doc = "of the soft skeleton: half of the largest thickness of what is there",
              .unit = "voxels",
              .min = 1.0,
              .max = 64.0});
  fields.choice("by", by, {{"cross", SkeletonBy::cross}, {"cube", SkeletonBy::cube}},
                {.doc = "what erodes: the six neighbours, or the cube of 27"});
}

void describe(Fields& fields, ClDiceTerm& term) {
  describe_skeleton(fields, term.iterations, term.by);
}

void describe(Fields& fields, SkeletonTerm& term) {
  describe_skeleton(fields, term.iterations, term.by);
}

void describe(Fields& fields, SkeletonRecallTerm& term) {
  fields.key("smooth", term.smooth, {.doc = "added above and below", .above = 0.0, .max = 1000.0});
}

void describe(Fields& fields, SurfaceDistanceTerm& term) {
  fields.key(
      "most", term.most,
      {.doc = "beyond which distances count alike", .unit = "voxels", .above = 0.0, .max = 2.0});
  fields.key("missed", term.missed,
             {.doc = "what of the target lies far from what is predicted counts, too"});
}

void describe(Fields& fields, TopologyTerm& term) {
  fields.key("side", term.side,
             {.doc = "most of the crop in a patch's middle, along each axis; betti_targets has the "
                     "same",
              .unit = "voxels",
              .min = 2.0,
              .max = 48.0});
  fields.key("every", term.every, {.doc = "steps, of which one has it", .min = 1.0, .max = 1e6});
  fields.key("after", term.after,
             {.doc = "epochs of a stage that do not have it", .min = 0.0, .max = 1e6});
  fields.key("threads", term.threads,
             {.doc = "that work on it beside the step", .min = 1.0, .max = 64.0});
}

template <class Term>
Tag<LossEntry> tag(std::string main, std::string doc) {
  constexpr std::size_t index = decltype(LossEntry::term)(Term{}).index();
  return {.name = term_names[index],
          .doc = std::move(doc),
          .main = std::move(main),
          .make = [](const Place& place) { return LossEntry{.term = Term{}, .place = place}; },
          .chosen = [](const LossEntry& entry) { return std::holds_alternative<Term>(entry.term); },
          .describe = [](Fields& fields,
                         LossEntry& entry) { describe(fields, std::get<Term>(entry.term)); }};
}

void describe_beside(Fields& fields, LossEntry& entry, bool masks) {
  fields.key("factor", entry.factor, {.doc = "of this term in the sum", .above = 0.0, .max = 1e6});
  fields.key("on", entry.on,
             {.doc = "the output that it judges: main, deep (all of deep supervision), or a name"});
  fields.choice("shares", entry.shares,
                {{"halving", DeepShares::halving}, {"equal", DeepShares::equal}},
                {.doc = "of deep outputs: each half as much as the finer one and the coarsest of "
                        "several nothing, or all the same; in all 1",
                 .used_if = [&entry] { return entry.on == "deep"; },
                 .used_when = "on is deep"});
  if (!masks) return;
  fields.choice(
      "resize", entry.resize,
      {{"nearest", TargetResize::nearest}, {"bilinear", TargetResize::bilinear}},
      {.doc = "how masks of pictures become those of an output of another size; bilinear: "
              "soft values, where scores are of sigmoids",
       .used_if = [&entry] { return entry.on != "main"; },
       .used_when = "on is not main"});
}

std::vector<Tag<LossEntry>> sheet_tags() {
  return {tag<ClDiceTerm>("iterations", "clDice, by the soft skeletons of mask and target"),
          tag<SkeletonTerm>("iterations", "mean difference of these soft skeletons"),
          tag<SkeletonRecallTerm>(
              "smooth", "share of the target's skeleton (augment: skeleton) that is not found"),
          tag<SurfaceDistanceTerm>(
              "most", "how far what is predicted lies from the target, and the other way round"),
          tag<TopologyTerm>("every",
                            "Betti numbers, by persistent homology (augment: betti_targets); the "
                            "last of several terms")};
}

}  // namespace

void describe_loss(Fields& fields, LossList& list, LossFor judged) {
  const bool masks = judged != LossFor::labels;
  std::vector<Tag<LossEntry>> tags{
      tag<CrossEntropyTerm>("smoothing", "cross entropy over classes that exclude each other"),
      tag<BinaryCrossEntropyTerm>("gamma", "binary cross entropy of every label by itself")};
  if (masks) {
    tags.push_back(tag<DiceTerm>("smooth", "soft Dice (nnU-Net's form)"));
    tags.push_back(tag<IouTerm>("smooth", "soft intersection over union"));
    tags.push_back(tag<EdgeTerm>(
        "", "squared difference of the Sobel magnitudes of masks by sigmoids; beside other terms"));
    tags.push_back(tag<StructureTerm>(
        "",
        "structure loss (F3Net's): binary cross entropy and IoU of masks by sigmoids, weighted "
        "at edges"));
  }
  if (judged == LossFor::sheets)
    for (Tag<LossEntry>& more : sheet_tags())
      tags.push_back(std::move(more));
  fields.tagged_list(
      "loss", list, std::move(tags),
      std::function<void(Fields&, LossEntry&)>(
          [masks](Fields& beside, LossEntry& entry) { describe_beside(beside, entry, masks); }),
      {.doc = "terms, whose sum is minimised"});
}

std::string name_of(const LossEntry& entry) {
  return term_names[entry.term.index()];
}

bool is_binary(const LossEntry& entry) {
  return std::holds_alternative<BinaryCrossEntropyTerm>(entry.term) ||
         std::holds_alternative<EdgeTerm>(entry.term) ||
         std::holds_alternative<StructureTerm>(entry.term) || is_of_sheets(entry);
}

bool is_of_sheets(const LossEntry& entry) {
  return std::holds_alternative<ClDiceTerm>(entry.term) ||
         std::holds_alternative<SkeletonTerm>(entry.term) ||
         std::holds_alternative<SkeletonRecallTerm>(entry.term) ||
         std::holds_alternative<SurfaceDistanceTerm>(entry.term) ||
         std::holds_alternative<TopologyTerm>(entry.term);
}

}  // namespace headrace::inline v1::app
