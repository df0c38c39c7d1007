#include <headrace/apps/task/volume_settings.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

using Scheme = VolumeNormalization::Scheme;

Tag<VolumeNormalization> scheme(Scheme which, std::string doc) {
  return {.name = name_of(which),
          .doc = std::move(doc),
          .make = [which](const Place&) { return VolumeNormalization{.scheme = which}; },
          .chosen = [which](const VolumeNormalization& n) { return n.scheme == which; }};
}

void describe_ct(Fields& fields, VolumeNormalization& ct) {
  fields.key("low", ct.low, {.doc = "values below become this one"});
  fields.key("high", ct.high, {.doc = "values above become this one"});
  fields.key("mean", ct.mean, {.doc = "of the data set's foreground"});
  fields.key("deviation", ct.deviation, {.doc = "likewise", .above = 0.0});
}

std::vector<Tag<VolumeNormalization>> schemes() {
  std::vector<Tag<VolumeNormalization>> tags{
      scheme(Scheme::zscore, "less the image's mean, divided by its deviation"),
      scheme(Scheme::zscore_nonzero, "the same of the voxels that are not 0; the others stay 0"),
      scheme(Scheme::ct, "cut to a range, then by mean and deviation of the data set"),
      scheme(Scheme::zero_to_one, "the image's least value is 0, its largest 1"),
      scheme(Scheme::by_255, "divided by 255"),
      scheme(Scheme::none, "values as they are")};
  tags[2].describe = describe_ct;
  return tags;
}

KeyOptions count(std::string doc, double least, double most) {
  return {.doc = std::move(doc), .min = least, .max = most};
}

void describe_preparation(Fields& fields, VolumeSettings& volume) {
  fields.key("spacing", volume.preparation.spacing,
             {.doc = "that volumes are resampled to, along z, y, x; zeros: each stays as it is",
              .unit = "mm",
              .min = 0.0,
              .max = 1e6});
  fields.key("crop", volume.preparation.crop,
             {.doc = "volumes are cut to the least box of what is not 0"});
  fields.tagged_list("normalise", volume.preparation.channels, schemes(),
                     {.doc = "how values become what the network sees, an entry a channel, or one "
                             "for all"});
  fields.key("store", volume.store,
             {.doc = "folder of the volumes once they are prepared: they are when they are missing "
                     "there, for each preparation anew"});
}

void describe_sampling(Fields& fields, PatchSampling& sampling) {
  fields.key("foreground", sampling.foreground,
             {.doc = "share of the patches whose middle is a voxel of a class: first the class, "
                     "then one of its voxels",
              .min = 0.0,
              .max = 1.0});
  fields.choice(
      "rule", sampling.forced,
      {{"chance", PatchSampling::Forced::by_chance}, {"rows", PatchSampling::Forced::by_row}},
      {.doc = "which: each by chance, or as nnU-Net the last rows of a batch (of a batch "
              "of 1 none)"});
  fields.key("classes", sampling.classes,
             {.doc = "labels that are chosen among; []: all but 0. With 0 among them and "
                     "foreground 1 labels are balanced"});
  fields.key("most_ignored", sampling.most_ignored,
             {.doc = "of patches with a larger share of ignored voxels another is drawn",
              .min = 0.0,
              .max = 1.0});
  fields.key("attempts", sampling.attempts, count("at most so often", 1.0, 1000.0));
}

}  // namespace

void describe(Fields& fields, VolumeSettings& volume) {
  describe_preparation(fields, volume);
  fields.key(
      "patch", volume.patch,
      {.doc = "what the network sees, along z, y, x", .unit = "voxels", .min = 1.0, .max = 2048.0});
  fields.key("patches", volume.patches, count("of each volume an epoch", 1.0, 1e6));
  fields.key(
      "visit", volume.visit,
      count("of these so many one after the other, so that fewer blocks are decoded", 1.0, 1e6));
  fields.section("sampling", [&](Fields& f) { describe_sampling(f, volume.sampling); },
                 {.doc = "where patches lie"});
  fields.key("cache", volume.cache, {.doc = "of decoded voxels, of all volumes together"});
}

void describe(Fields& fields, VolumePredictSettings& predict, const std::function<bool()>& used) {
  const auto of_volumes = [&used](KeyOptions options) {
    options.used_if = used;
    options.used_when = "data.train.source is volumes";
    return options;
  };
  fields.key("step", predict.step,
             of_volumes({.doc = "most that a window moves on, as a share of the patch, in test and "
                                "predictions",
                         .above = 0.0,
                         .max = 1.0}));
  fields.key("validation_step", predict.validation_step,
             of_volumes({.doc = "the same in the validation; 1: windows lie side by side",
                         .above = 0.0,
                         .max = 1.0}));
  fields.key("mirror", predict.mirror,
             of_volumes({.doc = "z, y, x: test and predictions are the mean over all ways to "
                                "mirror along these"}));
  fields.key("smallest", predict.smallest,
             of_volumes({.doc = "of predictions, components with fewer voxels go; 0: none",
                         .unit = "voxels",
                         .min = 0.0}));
  fields.key("largest_only", predict.largest_only,
             of_volumes({.doc = "of each class the largest component stays alone"}));
  fields.key("closing", predict.closing,
             of_volumes({.doc = "radius of the ball that predictions are closed with; 0: none",
                         .unit = "voxels",
                         .min = 0.0,
                         .max = 64.0}));
}

void check(const VolumeSettings& volume) {
  const auto& spacing = volume.preparation.spacing;
  const bool some = spacing[0] > 0.0 || spacing[1] > 0.0 || spacing[2] > 0.0;
  const bool all = spacing[0] > 0.0 && spacing[1] > 0.0 && spacing[2] > 0.0;
  if (some && !all)
    throw ConfigError(fmt::format(
        "[config] volume.spacing must be above 0 along every axis, or 0 along all, got [{}, {}, "
        "{}]",
        spacing[0], spacing[1], spacing[2]));
  if (volume.preparation.channels.empty())
    throw ConfigError(
        "[config] volume.normalise must have an entry for each channel, or one for all, got none; "
        "write [none] to keep values");
  for (const VolumeNormalization& channel : volume.preparation.channels) {
    if (channel.scheme == Scheme::ct && channel.low >= channel.high)
      throw ConfigError(
          fmt::format("[config] volume.normalise: ct must have low below high, got {} and {}",
                      channel.low, channel.high));
  }
  if (volume.store.empty())
    throw ConfigError("[config] volume.store must name a folder, got nothing");
  if (volume.patches % volume.visit != 0)
    throw ConfigError(
        fmt::format("[config] volume.patches must be a multiple of volume.visit, got {} and {}",
                    volume.patches, volume.visit));
  volume.sampling.check();
}

void check(const VolumePredictSettings& predict) {
  mirrored_axes(predict);
}

std::vector<std::int64_t> mirrored_axes(const VolumePredictSettings& predict) {
  constexpr std::string_view axes = "zyx";
  std::vector<std::int64_t> mirrored;
  for (const std::string& word : predict.mirror) {
    const std::size_t axis = word.size() == 1 ? axes.find(word) : std::string_view::npos;
    if (axis == std::string_view::npos || std::ranges::count(predict.mirror, word) > 1)
      throw ConfigError(fmt::format(
          "[config] predict.mirror must be a list of z, y and x, each once, got \"{}\"", word));
    mirrored.push_back(static_cast<std::int64_t>(axis));
  }
  return mirrored;
}

}  // namespace headrace::inline v1::app
