// What a data set's fingerprint is planned into, beside nnU-Net's own plans (make_nnunet_plans.py).
#include <headrace/apps/jobs/segmentation/nnunet_figures.h>
#include <headrace/apps/jobs/segmentation/nnunet_plan.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/apps/segmentation/stored_plans.h>

#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::app {
namespace {

using test::fingerprint_of;
using test::Json;
using test::question_of;
using test::stored_plans;

void check_configuration(const NnUNetPlans& plans, const NnUNetConfiguration& made,
                         const Json& stored) {
  using Lists = std::vector<std::vector<std::int64_t>>;
  using List = std::vector<std::int64_t>;
  CAPTURE(made.name);
  CHECK(made.spacing == stored.at("spacing").get<std::vector<double>>());
  CHECK(made.median_image_size ==
        stored.at("median_image_size_in_voxels").get<std::vector<double>>());
  CHECK(made.patch_size == stored.at("patch_size").get<List>());
  CHECK(made.batch_size == stored.at("batch_size").get<std::int64_t>());
  CHECK(made.strides.size() == stored.at("n_stages").get<std::size_t>());
  CHECK(made.features_per_stage == stored.at("features_per_stage").get<List>());
  CHECK(made.strides == stored.at("strides").get<Lists>());
  CHECK(made.kernel_sizes == stored.at("kernel_sizes").get<Lists>());
  CHECK(made.n_conv_per_stage == stored.at("n_conv_per_stage").get<List>());
  CHECK(made.n_conv_per_stage_decoder == stored.at("n_conv_per_stage_decoder").get<List>());
  CHECK(made.batch_dice == stored.at("batch_dice").get<bool>());
  CHECK(plans.normalization_schemes ==
        stored.at("normalization_schemes").get<std::vector<std::string>>());
  CHECK(plans.use_mask_for_norm == stored.at("use_mask_for_norm").get<std::vector<bool>>());
  for (const char* key : {"patch_size", "batch_size", "strides", "batch_dice"})
    CHECK(made.reasons.contains(key));
}

NnUNetFingerprint cubes(std::int64_t side, std::size_t cases = 10) {
  return {.shapes = std::vector<std::array<std::int64_t, 3>>(cases, {side, side, side}),
          .spacings = std::vector<std::array<double, 3>>(cases, {1, 1, 1})};
}

std::string plan_refusal(const NnUNetFingerprint& fingerprint, const NnUNetQuestion& question) {
  try {
    plan_segmentation(fingerprint, question);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "nothing thrown";
}

const NnUNetQuestion plain{.channel_names = {"CT"}, .labels = 2, .cases = 10};

}  // namespace

TEST_CASE("every field of a plan is nnU-Net's, to the last bit") {
  std::size_t lowres = 0;
  const Json stored = stored_plans();
  CHECK(stored.size() == 12);
  for (const Json& made : stored) {
    CAPTURE(made.at("name").get<std::string>());
    const NnUNetPlans plans = plan_segmentation(fingerprint_of(made), question_of(made));
    const Json& wanted = made.at("plans");
    CHECK(plans.transpose_forward ==
          wanted.at("transpose_forward").get<std::array<std::size_t, 3>>());
    CHECK(plans.transpose_backward ==
          wanted.at("transpose_backward").get<std::array<std::size_t, 3>>());
    CHECK(plans.original_median_spacing ==
          wanted.at("original_median_spacing_after_transp").get<std::array<double, 3>>());
    CHECK(plans.original_median_shape ==
          wanted.at("original_median_shape_after_transp").get<std::array<std::int64_t, 3>>());
    const Json& configurations = wanted.at("configurations");
    check_configuration(plans, plans.flat, configurations.at("2d"));
    REQUIRE(plans.fullres.has_value() == configurations.contains("3d_fullres"));
    REQUIRE(plans.lowres.has_value() == configurations.contains("3d_lowres"));
    if (plans.fullres) check_configuration(plans, *plans.fullres, configurations.at("3d_fullres"));
    if (plans.lowres) check_configuration(plans, *plans.lowres, configurations.at("3d_lowres"));
    lowres += plans.lowres.has_value() ? 1 : 0;
  }
  CHECK(lowres == 4);
}

TEST_CASE("percentiles and medians are numpy's") {
  CHECK(numpy_percentile({3, 1, 2, 10}, 50) == 2.5);
  CHECK(numpy_percentile({3, 1, 2, 10}, 10) == doctest::Approx(1.3));
  CHECK(numpy_percentile({7}, 10) == 7);
  CHECK(numpy_percentile({7, 9}, 100) == 9);
  CHECK(numpy_median({5, 1, 3}) == 3);
  CHECK(numpy_median({5, 1, 3, 4}) == 3.5);
}

TEST_CASE("a plan says in a few lines what and why") {
  const std::vector<std::string> lines = describe(plan_segmentation(cubes(400), plain));
  REQUIRE(lines.size() > 3);
  CHECK(lines[0] ==
        "2d          patch 448x448, batch 16, 7 stages to 512 features, spacing 1 x 1 mm");
  CHECK(lines[1] ==
        "3d_fullres  patch 128x128x128, batch 2, 6 stages to 320 features, spacing 1 x 1 x 1 mm");
  CHECK(lines[2].starts_with("3d_lowres   patch 128x128x128"));
  CHECK(std::ranges::find(lines,
                          "3d_lowres: a patch of full resolution shows 3.3 % of the median image: "
                          "coarser images give its surroundings") != lines.end());
}

TEST_CASE("a plan is refused where there is nothing to plan") {
  CHECK(plan_refusal(cubes(64), {.channel_names = {}, .cases = 10}) ==
        "[nnU-Net plan] there must be a channel, got none");
  CHECK(plan_refusal(cubes(64), {.channel_names = {"CT"}, .cases = 0}) ==
        "[nnU-Net plan] cases must be at least 1, got 0");
  CHECK(plan_refusal(cubes(64, 0), plain) ==
        "[nnU-Net plan] a fingerprint must have a shape and a spacing of each case, got 0 and 0");
  CHECK(plan_refusal(cubes(0), plain) ==
        "[nnU-Net plan] shapes must be 1 to 16777216 voxels along each axis, got [0, 0, 0]");
  CHECK(plan_refusal(cubes(5), plain) ==
        "[nnU-Net plan] images of a median of 5x5x5 voxels are too small to be halved once "
        "(3d_fullres); resample them finer");
  NnUNetFingerprint endless = cubes(64);
  endless.spacings[3][1] = 0;
  CHECK(plan_refusal(endless, plain) ==
        "[nnU-Net plan] spacings must be lengths from 1e-9 to 1e9 mm, got [1, 0, 1]");
  CHECK(
      plan_refusal(cubes(64), {.channel_names = {"CT"}, .cases = 10, .gpu_memory = 1e-9}) ==
      "[nnU-Net plan] no patch is small enough for gpu_memory; give more, or resample the images");
}

}  // namespace headrace::app
