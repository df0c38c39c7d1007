#include <headrace/apps/jobs/segmentation/nnunet_figures.h>
#include <headrace/apps/jobs/segmentation/nnunet_plan.h>
#include <headrace/engine/base/printable.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

// Sums stand in the order of nnU-Net's, so that the roundings are the same.

namespace headrace::inline v1::app {
namespace {

constexpr double anisotropic = 3;      // times the other axes
constexpr double lowres_share = 0.25;  // of an image that a patch must show
constexpr double lowres_step = 1.03;   // of spacing
void check(const NnUNetFingerprint& fingerprint, const NnUNetQuestion& question) {
  if (question.channel_names.empty()) refuse_plan("there must be a channel, got none");
  if (question.cases < 1)
    refuse_plan(fmt::format("cases must be at least 1, got {}", question.cases));
  if (question.labels < 1)
    refuse_plan(fmt::format("labels must be at least 1, got {}", question.labels));
  if (!std::isfinite(question.gpu_memory) || question.gpu_memory <= 0)
    refuse_plan(fmt::format("gpu_memory must be positive, got {}", question.gpu_memory));
  if (fingerprint.shapes.empty() || fingerprint.shapes.size() != fingerprint.spacings.size())
    refuse_plan(
        fmt::format("a fingerprint must have a shape and a spacing of each case, got {} and {}",
                    fingerprint.shapes.size(), fingerprint.spacings.size()));
  constexpr std::int64_t most_side = std::int64_t{1} << 24;
  for (const auto& shape : fingerprint.shapes)
    if (std::ranges::min(shape) < 1 || std::ranges::max(shape) > most_side)
      refuse_plan(
          fmt::format("shapes must be 1 to {} voxels along each axis, got {}", most_side, shape));
  for (const auto& spacing : fingerprint.spacings)
    if (!std::ranges::all_of(spacing, [](double s) { return s >= 1e-9 && s <= 1e9; }))
      refuse_plan(fmt::format("spacings must be lengths from 1e-9 to 1e9 mm, got {}", spacing));
}

/// Normalisation that a channel's name asks for; anything unknown is standardised.
std::string normalization_of(std::string name) {
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (name == "ct") return "CTNormalization";
  if (name == "nonorm") return "NoNormalization";
  if (name == "rescale_to_0_1") return "RescaleTo01Normalization";
  if (name == "rgb_to_0_1") return "RGBTo01Normalization";
  return "ZScoreNormalization";
}

std::string why_normalization(const std::string& channel, const std::string& scheme) {
  const std::string name = printable(channel, 60);
  if (scheme == "CTNormalization")
    return fmt::format(
        "\"{}\" is CT, whose values mean the same in every image: clipped and standardised by the "
        "foreground of the whole data set",
        name);
  if (scheme == "ZScoreNormalization")
    return fmt::format("\"{}\" has no fixed scale: each image is standardised by itself", name);
  return fmt::format("\"{}\" asks for it by its name", name);
}

struct TargetSpacing {
  PerAxis spacing{};
  std::string why{};
};

TargetSpacing target_spacing(const NnUNetFingerprint& fingerprint) {
  const auto median = [](std::vector<double> values) {
    return numpy_percentile(std::move(values), 50);
  };
  PerAxis target = each_axis(fingerprint.spacings, median);
  const PerAxis size = each_axis(fingerprint.shapes, median);
  const auto worst = static_cast<std::size_t>(std::ranges::max_element(target) - target.begin());
  double other_spacing = 0;
  double other_size = INFINITY;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (axis == worst) continue;
    other_spacing = std::max(other_spacing, target[axis]);
    other_size = std::min(other_size, size[axis]);
  }
  if (target[worst] <= anisotropic * other_spacing || size[worst] * anisotropic >= other_size)
    return {target, "median of the cases: finer would invent voxels, coarser would lose them"};
  const double usual = target[worst];
  double fine = each_axis(fingerprint.spacings, [](std::vector<double> values) {
    return numpy_percentile(std::move(values), 10);
  })[worst];
  if (fine < other_spacing) fine = std::max(other_spacing, fine) + 1e-5;
  target[worst] = fine;
  return {target,
          fmt::format("median of the cases, but along the coarse axis the 10th percentile {:.3g} "
                      "instead of {:.3g} mm, which would leave too few slices of the finer cases",
                      fine, usual)};
}

template <class Entry>
std::array<Entry, 3> transposed(const std::array<Entry, 3>& values,
                                const std::array<std::size_t, 3>& forward) {
  return {values[forward[0]], values[forward[1]], values[forward[2]]};
}

class Planner {
 public:
  Planner(const NnUNetFingerprint& fingerprint, const NnUNetQuestion& question)
      : fingerprint_(fingerprint), question_(question) {}

  NnUNetPlans plan() {
    look_at_spacing();
    look_at_channels();
    const std::vector<double> spacing{spacing_.begin(), spacing_.end()};
    const std::vector<double> median{median_.begin(), median_.end()};
    const double voxels = product_of(median) * static_cast<double>(question_.cases);
    if (median_[0] != 1) {
      plans_.fullres = configure_nnunet("3d_fullres", spacing, median, voxels, question_);
      plan_lowres(median);
      plans_.fullres->batch_dice = plans_.lowres.has_value();
      plans_.fullres->reasons["batch_dice"] =
          plans_.lowres ? "a patch is a small part of an image: Dice is taken over the batch"
                        : "a patch shows much of an image: Dice is taken of each patch";
    } else {
      plans_.reasons["3d"] = "images have one slice: there is nothing for a 3D network";
    }
    plans_.flat = configure_nnunet("2d", {spacing.begin() + 1, spacing.end()},
                                   {median.begin() + 1, median.end()}, voxels, question_);
    plans_.flat.batch_dice = true;
    plans_.flat.reasons["batch_dice"] =
        "many slices lack a class: Dice is taken over the batch together";
    return std::move(plans_);
  }

 private:
  void look_at_spacing() {
    const TargetSpacing target = target_spacing(fingerprint_);
    plans_.reasons["spacing"] = target.why;
    const PerAxis& files = target.spacing;
    const auto coarsest = static_cast<std::size_t>(std::ranges::max_element(files) - files.begin());
    std::size_t place = 0;
    plans_.transpose_forward[place++] = coarsest;
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (axis != coarsest) plans_.transpose_forward[place++] = axis;
    for (std::size_t axis = 0; axis < 3; ++axis)
      plans_.transpose_backward[plans_.transpose_forward[axis]] = axis;
    plans_.reasons["transpose"] =
        coarsest == 0
            ? "the slices already lie along the axis of the coarsest spacing"
            : "the axis of the coarsest spacing goes first, so that a 2D network sees the "
              "two finest";
    std::vector<std::array<double, 3>> shapes;
    for (std::size_t i = 0; i < fingerprint_.shapes.size(); ++i) {
      std::array<double, 3> shape{};
      for (std::size_t axis = 0; axis < 3; ++axis)
        shape[axis] = std::nearbyint(fingerprint_.spacings[i][axis] / files[axis] *
                                     static_cast<double>(fingerprint_.shapes[i][axis]));
      shapes.push_back(shape);
    }
    const auto& forward = plans_.transpose_forward;
    spacing_ = transposed(files, forward);
    median_ = transposed(each_axis(shapes, numpy_median), forward);
    plans_.original_median_spacing =
        transposed(each_axis(fingerprint_.spacings, numpy_median), forward);
    const PerAxis original = transposed(each_axis(fingerprint_.shapes, numpy_median), forward);
    for (std::size_t axis = 0; axis < 3; ++axis)
      plans_.original_median_shape[axis] =
          static_cast<std::int64_t>(std::nearbyint(original[axis]));
  }

  void look_at_channels() {
    const bool cropped = fingerprint_.median_relative_size_after_cropping < 3 / 4.0;
    for (std::size_t i = 0; i < question_.channel_names.size(); ++i) {
      const std::string scheme = normalization_of(question_.channel_names[i]);
      plans_.normalization_schemes.push_back(scheme);
      plans_.use_mask_for_norm.push_back(cropped && scheme == "ZScoreNormalization");
      plans_.reasons[fmt::format("normalization_schemes.{}", i)] =
          why_normalization(question_.channel_names[i], scheme);
    }
    if (std::ranges::count(plans_.use_mask_for_norm, true) > 0)
      plans_.reasons["use_mask_for_norm"] = fmt::format(
          "cutting off what is 0 leaves {:.0f} % of an image: the rest that is 0 says nothing, and "
          "stays out of mean and deviation",
          100 * fingerprint_.median_relative_size_after_cropping);
  }

  void plan_lowres(const std::vector<double>& median);

  const NnUNetFingerprint& fingerprint_;
  const NnUNetQuestion& question_;
  PerAxis spacing_{};
  PerAxis median_{};
  NnUNetPlans plans_;
};

void Planner::plan_lowres(const std::vector<double>& median) {
  const NnUNetConfiguration& fullres = *plans_.fullres;
  const auto voxels_in = [](const NnUNetConfiguration& made) {
    return product_of({made.patch_size.begin(), made.patch_size.end()});
  };
  const double image = product_of(median);
  const double shown = voxels_in(fullres) / image;
  double patch_voxels = voxels_in(fullres);
  double image_voxels = image;
  std::vector<double> spacing = fullres.spacing;
  std::optional<NnUNetConfiguration> made;
  while (patch_voxels / image_voxels < lowres_share) {
    const double longest = std::ranges::max(spacing);
    const bool uneven =
        std::ranges::any_of(spacing, [&](double length) { return longest / length > 2; });
    std::vector<double> size;
    std::vector<double> rounded;
    for (std::size_t axis = 0; axis < spacing.size(); ++axis) {
      if (!uneven || longest / spacing[axis] > 2) spacing[axis] *= lowres_step;
      size.push_back(fullres.spacing[axis] / spacing[axis] * median[axis]);
      rounded.push_back(std::nearbyint(size.back()));
    }
    image_voxels = product_of(size);
    made = configure_nnunet("3d_lowres", spacing, rounded,
                            image_voxels * static_cast<double>(question_.cases), question_);
    patch_voxels = voxels_in(*made);
  }
  std::string& why = plans_.reasons["3d_lowres"];
  if (!made) {
    why = fmt::format("none: a patch shows {:.0f} % of the median image", 100 * shown);
  } else if (image / image_voxels < 2) {
    why = "none: it would have more than half as many voxels";
  } else {
    why = fmt::format(
        "a patch of full resolution shows {:.1f} % of the median image: coarser images give its "
        "surroundings",
        100 * shown);
    made->reasons["batch_dice"] = "a patch shows much of an image: Dice is taken of each patch";
    plans_.lowres = std::move(made);
  }
}

std::string line_of(const NnUNetConfiguration& made) {
  return fmt::format("{:<10}  patch {}, batch {}, {} stages to {} features, spacing {:.3g} mm",
                     made.name, fmt::join(made.patch_size, "x"), made.batch_size,
                     made.strides.size(), made.features_per_stage.back(),
                     fmt::join(made.spacing, " x "));
}

}  // namespace

NnUNetPlans plan_segmentation(const NnUNetFingerprint& fingerprint,
                              const NnUNetQuestion& question) {
  check(fingerprint, question);
  return Planner(fingerprint, question).plan();
}

std::vector<std::string> describe(const NnUNetPlans& plans) {
  std::vector<std::string> lines;
  std::vector<const NnUNetConfiguration*> all{&plans.flat};
  if (plans.fullres) all.push_back(&*plans.fullres);
  if (plans.lowres) all.push_back(&*plans.lowres);
  lines.reserve(2 * all.size() + plans.reasons.size());
  for (const NnUNetConfiguration* made : all)
    lines.push_back(line_of(*made));
  for (const auto& [key, why] : plans.reasons)
    lines.push_back(fmt::format("{}: {}", key, why));
  for (const NnUNetConfiguration* made : all)
    lines.push_back(fmt::format("{}: patch {}; batch {}", made->name,
                                made->reasons.at("patch_size"), made->reasons.at("batch_size")));
  return lines;
}

}  // namespace headrace::inline v1::app
