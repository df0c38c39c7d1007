#include <headrace/models/losses/skeleton_losses.h>
#include <headrace/models/losses/surface_distance_loss.h>
#include <headrace/tests/models/registered_sheet_losses.h>

#include <optional>
#include <string>

#include <ATen/Functions.h>

namespace headrace::test {

namespace {

using namespace headrace::models;

// Of two rows the first has no weight, and some voxels are ignored.
struct Weightless {
  std::optional<std::int64_t> ignore = ignored;
  at::Tensor of_samples = at::tensor({0., 1.}, at::kDouble);
};

// Rows of masks that the logits lean to: every step towards them makes skeletons more alike, and
// none crosses .5.
LossCase leaning_masks(Loss loss, at::IntArrayRef shape,
                       const std::optional<Weightless>& weightless) {
  const at::Tensor mask = classes(shape, 2, 3).to(at::kDouble);
  const at::Tensor logits = (mask * 2 - 1) * .8 + values(shape, 4) * .2;
  LossCase one{.loss = std::move(loss), .logits = logits, .target = mask};
  at::Tensor counts = at::ones_like(mask, at::kBool);
  if (weightless) {
    one.target = mask.clone();
    one.target.slice(3, 1, 4, 2).slice(-1, 0, shape.back(), 5).fill_(ignored);
    counts = (one.target != ignored) & (weightless->of_samples != 0).view({2, 1, 1, 1, 1});
    one.weightless = counts.logical_not();
  }
  one.toward = at::where(counts, mask - at::sigmoid(logits), 0.0);
  return one;
}

// Of volumes [2, 1, 4, 5, 6 times] or, without what weighs nothing, pictures [2, 1, 7, 8 times].
RegisteredLoss of_masks(const std::string& function, const std::string& options, Loss loss,
                        const std::optional<Weightless>& weightless, bool pictures = false) {
  return {.function = function, .options = options, .make = [=](std::int64_t times) {
            return pictures ? leaning_masks(loss, {2, 1, 7, 8 * times}, {})
                            : leaning_masks(loss, {2, 1, 4, 5, 6 * times}, weightless);
          }};
}

void add_skeletons(std::vector<RegisteredLoss>& all) {
  const auto add = [&](RegisteredLoss one) {
    one.of_skeletons = true;
    all.push_back(std::move(one));
  };
  const SoftSkeletonOptions cube{.iterations = 2, .operators = SkeletonOperators::cube};
  const Weightless less;
  add(of_masks("cldice_loss", "volumes", [](auto& z, auto& t) { return cldice_loss(z, t).value; },
               {}));
  add(of_masks(
      "cldice_loss", "pictures, cube",
      [=](auto& z, auto& t) { return cldice_loss(z, t, {.skeleton = cube}).value; }, {},
      /*pictures=*/true));
  add(of_masks(
      "cldice_loss", "rows and voxels without weight",
      [=](auto& z, auto& t) {
        return cldice_loss(z, t, {.ignore = less.ignore, .of_samples = less.of_samples}).value;
      },
      less));
  add(of_masks(
      "morphological_skeleton_loss", "volumes, cube",
      [=](auto& z, auto& t) { return morphological_skeleton_loss(z, t, {.skeleton = cube}).value; },
      {}));
  add(of_masks(
      "morphological_skeleton_loss", "rows and voxels without weight",
      [=](auto& z, auto& t) {
        return morphological_skeleton_loss(z, t,
                                           {.ignore = less.ignore, .of_samples = less.of_samples})
            .value;
      },
      less));
}

// What of the mask is on its skeleton: every second voxel.
at::Tensor grown(const at::Tensor& target) {
  return (target == 1) & (at::arange(target.size(-1)).remainder(2) == 0);
}

// It moves nothing beside the skeleton.
void add_recall(std::vector<RegisteredLoss>& all) {
  const Weightless less;
  const auto add = [&](RegisteredLoss one) {
    one.saturates = true;
    one.make = [make = one.make](std::int64_t times) {
      LossCase made = make(times);
      made.toward = at::where(grown(made.target), made.toward, 0.0);
      return made;
    };
    all.push_back(std::move(one));
  };
  add(of_masks(
      "skeleton_recall_loss", "pictures",
      [](auto& z, auto& t) { return skeleton_recall_loss(z, t, grown(t)).value; }, {},
      /*pictures=*/true));
  add(of_masks(
      "skeleton_recall_loss", "rows and voxels without weight",
      [=](auto& z, auto& t) {
        return skeleton_recall_loss(z, t, grown(t),
                                    {.ignore = less.ignore, .of_samples = less.of_samples})
            .value;
      },
      less));
}

void add_distances(std::vector<RegisteredLoss>& all) {
  const Weightless less;
  const auto add = [&](RegisteredLoss one) {
    one.saturates = true;
    all.push_back(std::move(one));
  };
  add(of_masks("surface_distance_loss", "volumes",
               [](auto& z, auto& t) { return surface_distance_loss(z, t).value; }, {}));
  add(of_masks(
      "surface_distance_loss", "pictures, limit 1.5",
      [](auto& z, auto& t) {
        return surface_distance_loss(z, t, {.distances = {.limit = 1.5}}).value;
      },
      {}, /*pictures=*/true));
  add(of_masks(
      "surface_distance_loss", "rows and voxels without weight",
      [=](auto& z, auto& t) {
        return surface_distance_loss(z, t, {.ignore = less.ignore, .of_samples = less.of_samples})
            .value;
      },
      less));
}

}  // namespace

void add_sheet_losses(std::vector<RegisteredLoss>& all) {
  add_skeletons(all);
  add_recall(all);
  add_distances(all);
}

}  // namespace headrace::test
