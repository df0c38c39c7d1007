// The operations on volumes in a list `augment:`.
#include <headrace/apps/feed/augment.h>
#include <headrace/apps/feed/augment/operation.h>
#include <headrace/augment/volume/deep_supervision_targets.h>
#include <headrace/augment/volume/distance_transform.h>
#include <headrace/augment/volume/nnunet_intensity.h>
#include <headrace/augment/volume/patch_dropout.h>
#include <headrace/augment/volume/skeleton.h>
#include <headrace/augment/volume/slice_jitter.h>
#include <headrace/augment/volume/volume_cutout.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/apps/started_program.h>

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::bytes_of;
using headrace::test::contains;

namespace {

const Shape scan_shape{2, 6, 14, 12};
const Shape parts_shape{6, 14, 12};

/// Volumes of two channels with labels 0 to 3, the largest a rare one.
class Scans final : public Source {
 public:
  std::string name() const override { return "scans"; }
  std::int64_t size() const override { return 10; }
  Schema fields() const override {
    return {FieldSpec::fixed("scan", DType::float32, scan_shape),
            FieldSpec::fixed("parts", DType::uint8, parts_shape)};
  }
  void read(std::int64_t index, Sample& sample) const override {
    Random random(RandomKey{.seed = static_cast<std::uint64_t>(index)});
    for (float& value : sample.make("scan", DType::float32, scan_shape).values<float>())
      value = static_cast<float>(random.normal());
    std::int64_t i = 0;
    for (std::uint8_t& label :
         sample.make("parts", DType::uint8, parts_shape).values<std::uint8_t>()) {
      const bool inside = i % 12 > 2 && i % 12 < 8 && i / 12 % 14 > 3 && i / 12 % 14 < 11;
      label = static_cast<std::uint8_t>(i % 53 == index ? 3 : inside ? 1 + i / 504 : 0);
      ++i;
    }
  }
};

app::AugmentContext scan_context() {
  return {.fields = Scans().fields(), .masks = {"parts"}};
}

Pipeline scans() {
  return Pipeline::from(Scans()).order(Shuffled{.seed = 3});
}

/// A list's batches of two epochs.
std::string scans_delivered(const std::string& list,
                            const app::AugmentContext& given = scan_context(), int threads = 1) {
  const app::AugmentSteps steps = app::make_augment_steps(app::augment_list(list), given);
  Pipeline pipeline = steps.before_batch(scans()).batch({.size = 4});
  return bytes_of(
      steps.after_batch(std::move(pipeline)).build({.runtime = Runtime({.threads = threads})}));
}

template <class Op>
std::string by_hand(Op op) {
  return bytes_of(scans().then(std::move(op)).batch({.size = 4}).build());
}

std::string scan_refusal(const std::string& list,
                         const app::AugmentContext& given = scan_context()) {
  try {
    app::make_augment_steps(app::augment_list(list), given);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

NnUNetIntensity all_parts() {
  NnUNetIntensity op{.noise = {.p = 0.9, .channel_p = 0.7, .deviation = {0.2, 0.6}},
                     .blur = {.p = 0.8, .channel_p = 0.6, .deviation = {0.6, 1.5}},
                     .brightness = {.p = 0.7, .channel_p = 0.8, .factor = {0.5, 3.0}},
                     .contrast = {.p = 0.6, .channel_p = 0.9, .factor = {0.3, 2.0}},
                     .low_resolution = {.p = 0.5, .channel_p = 0.8, .zoom = {0.3, 0.7}},
                     .gamma_inverted = {.p = 0.5, .exponent = {0.4, 0.9}, .invert = true},
                     .gamma = {.p = 0.6, .exponent = {1.2, 2.5}},
                     .field = "scan"};
  op.contrast.preserve_range = false;
  op.low_resolution.keep_depth = true;
  op.gamma.rule = VolumeGamma::Rule::uniform;
  op.gamma.retain_stats = false;
  return op;
}

const std::string all_parts_text =
    "{nnunet_intensity: {noise: {p: 0.9, channel_p: 0.7, deviation: [0.2, 0.6]}, "
    "blur: {p: 0.8, channel_p: 0.6, deviation: [0.6, 1.5]}, "
    "brightness: {p: 0.7, channel_p: 0.8, factor: [0.5, 3]}, "
    "contrast: {p: 0.6, channel_p: 0.9, factor: [0.3, 2], preserve_range: false}, "
    "low_resolution: {p: 0.5, channel_p: 0.8, zoom: [0.3, 0.7], keep_depth: true}, "
    "gamma_inverted: {p: 0.5, exponent: [0.4, 0.9]}, "
    "gamma: {p: 0.6, exponent: [1.2, 2.5], rule: uniform, retain_stats: false}}}";

struct Written {
  std::string name;
  std::string parameters;
  std::string bytes;  // of the operation itself
};

/// With no parameter at its default.
std::vector<Written> on_values() {
  VolumeContrast contrast{.p = 0.6, .channel_p = 0.9, .factor = {0.3, 2.0}, .field = "scan"};
  contrast.preserve_range = false;
  VolumeGamma gamma{.p = 0.6, .channel_p = 0.7, .exponent = {0.4, 2.5}, .field = "scan"};
  gamma.rule = VolumeGamma::Rule::uniform;
  gamma.invert = true;
  gamma.retain_stats = false;
  const VolumeLowResolution low{
      .p = 0.5, .channel_p = 0.8, .zoom = {0.3, 0.7}, .keep_depth = true, .field = "scan"};
  return {
      {"volume_noise", "{p: 0.9, channel_p: 0.7, deviation: [0.2, 0.6]}",
       by_hand(VolumeNoise{.p = 0.9, .channel_p = 0.7, .deviation = {0.2, 0.6}, .field = "scan"})},
      {"volume_blur", "{p: 0.8, channel_p: 0.6, deviation: [0.6, 1.5]}",
       by_hand(VolumeBlur{.p = 0.8, .channel_p = 0.6, .deviation = {0.6, 1.5}, .field = "scan"})},
      {"volume_brightness", "{p: 0.7, channel_p: 0.8, factor: [0.5, 3]}",
       by_hand(
           VolumeBrightness{.p = 0.7, .channel_p = 0.8, .factor = {0.5, 3.0}, .field = "scan"})},
      {"volume_contrast", "{p: 0.6, channel_p: 0.9, factor: [0.3, 2], preserve_range: false}",
       by_hand(contrast)},
      {"volume_low_resolution", "{p: 0.5, channel_p: 0.8, zoom: [0.3, 0.7], keep_depth: true}",
       by_hand(low)},
      {"volume_gamma",
       "{p: 0.6, channel_p: 0.7, exponent: [0.4, 2.5], rule: uniform, invert: true, retain_stats: "
       "false}",
       by_hand(gamma)},
  };
}

std::vector<Written> on_places() {
  return {
      {"slice_jitter", "{p: 0.7, most: 4}",
       by_hand(SliceJitter{.p = 0.7, .most = 4, .field = "scan", .masks = {"parts"}})},
      {"volume_cutout", "{p: 0.8, boxes: 2, side: [2, 5], fill: -3}",
       by_hand(VolumeCutout{.p = 0.8, .boxes = 2, .side = {2, 5}, .fill = -3.0F, .field = "scan"})},
      {"patch_dropout", "{p: 0.8, least_kept: 0.2, cell: [2, 3, 4], fill: -3}",
       by_hand(PatchDropout{
           .p = 0.8, .least_kept = 0.2, .cell = {2, 3, 4}, .fill = -3.0F, .field = "scan"})},
  };
}

std::vector<Written> on_labels() {
  return {
      {"distance_transform", "{labels: [2, 3], spacing: [3, 1, 0.5], most: 2.5, to: far}",
       by_hand(DistanceTransform{.labels = {2, 3},
                                 .spacing = {3.0, 1.0, 0.5},
                                 .most = 2.5,
                                 .field = "parts",
                                 .to = "far"})},
      {"distance_transform", "{ignore: 3}",
       by_hand(DistanceTransform{.ignore = 3, .field = "parts"})},
      {"skeleton", "{labels: [1, 2], grow: 1, keep_labels: true, slices: true, to: bone}",
       by_hand(Skeleton{.labels = {1, 2},
                        .grow = 1,
                        .keep_labels = true,
                        .slices = true,
                        .field = "parts",
                        .to = "bone"})},
      {"skeleton", "{ignore: 3}", by_hand(Skeleton{.ignore = 3, .field = "parts"})},
      {"deep_supervision_targets",
       "{factors: [[1, 2, 2], [3, 4, 5]], rule: surface, sides: up, ignore: 3}",
       by_hand(DeepSupervisionTargets{.factors = {{1, 2, 2}, {3, 4, 5}},
                                      .rule = DeepSupervisionTargets::Rule::surface,
                                      .sides = DeepSupervisionTargets::Sides::up,
                                      .ignore = 3,
                                      .field = "parts"})},
  };
}

void check_written(const std::vector<Written>& entries) {
  for (const auto& [name, parameters, bytes] : entries) {
    CAPTURE(name);
    const std::string list = "[{" + name + ": " + parameters + "}]";
    CHECK(scans_delivered(list) == bytes);
    CHECK(scans_delivered(list, scan_context(), 8) == bytes);
    CHECK(scans_delivered("[" + name + "]") != bytes);
  }
}

const std::vector<std::string> names_on_volumes{
    "volume_noise",          "volume_blur",  "volume_brightness", "volume_contrast", "volume_gamma",
    "volume_low_resolution", "slice_jitter", "volume_cutout",     "patch_dropout"};
const std::vector<std::string> names_on_labels{"distance_transform", "skeleton",
                                               "deep_supervision_targets"};

}  // namespace

TEST_CASE("an entry for a volume is its operation with all of its parameters, to the byte") {
  check_written(on_values());
  check_written(on_places());
  check_written(on_labels());
  CHECK(scans_delivered("[" + all_parts_text + "]") == by_hand(all_parts()));
  NnUNetIntensity usual;
  usual.field = "scan";
  CHECK(scans_delivered("[nnunet_intensity]") == by_hand(usual));
}

TEST_CASE("each part of nnunet_intensity can be left out, or have its probability alone") {
  NnUNetIntensity op;
  op.field = "scan";
  op.noise.p = 1.0;
  op.gamma.p = 0.0;
  CHECK(scans_delivered("[{nnunet_intensity: {noise: 1, gamma: {p: 0}}}]") == by_hand(op));
  CHECK(contains(scan_refusal("[{nnunet_intensity: {nois: 1}}]"), "did you mean \"noise\"?"));
  CHECK(contains(scan_refusal("[{nnunet_intensity: {noise: {deviatio: 1}}}]"), "deviation"));
  CHECK(contains(scan_refusal("[{nnunet_intensity: {blur: {deviation: [0.5, 30]}}}]"),
                 "augment.0.nnunet_intensity.blur.deviation.1\" must be at least 0.1"));
  CHECK(contains(scan_refusal("[{nnunet_intensity: {blur: {deviation: [2, 1]}}}]"),
                 "[config] augment:1:12: entry \"nnunet_intensity\" of augment: [volume blur] "
                 "deviation must be least <= most"));
}

TEST_CASE("parameters in sections are read as they are written, and a setting changes one") {
  app::AugmentList list;
  app::Fields fields;
  app::describe_augment(fields, list);
  app::Node document = app::parse_document("augment: [" + all_parts_text + "]", "job.yaml");
  app::apply_override(document, "augment.0.nnunet_intensity.noise.p=0.25");
  fields.read(document);
  const std::string text = fields.to_yaml();
  CHECK(
      contains(text, "nnunet_intensity: {noise: {p: 0.25, channel_p: 0.7, deviation: [0.2, 0.6]}"));
  app::AugmentList again;
  app::Fields same;
  app::describe_augment(same, again);
  same.read(app::parse_document(text, "written.yaml"));
  CHECK(same.to_yaml() == text);
}

TEST_CASE("what is made of labels leaves out the label that the task ignores, unless it is told") {
  app::AugmentContext given = scan_context();
  given.ignore = 3;
  CHECK(scans_delivered("[skeleton]", given) == scans_delivered("[{skeleton: {ignore: 3}}]"));
  CHECK(scans_delivered("[{skeleton: {ignore: 1}}]", given) ==
        scans_delivered("[{skeleton: {ignore: 1}}]"));
  CHECK(scans_delivered("[distance_transform]", given) != scans_delivered("[distance_transform]"));
}

TEST_CASE("a step on labels with a limit is a node of its own") {
  const auto graph = [](const std::string& list) {
    const app::AugmentSteps steps =
        app::make_augment_steps(app::augment_list(list), scan_context());
    return steps.before_batch(scans()).batch({.size = 4}).build().describe();
  };
  for (const std::string& name : names_on_labels) {
    CHECK(contains(graph("[{" + name + ": {limit: 2}}]"), "limit 2"));
    CHECK_FALSE(contains(graph("[" + name + "]"), "limit"));
  }
}

TEST_CASE("a field that is there already is not made again") {
  for (const std::string& name : names_on_labels) {
    CHECK(scan_refusal("[" + name + "]") == "no error");
    CHECK(contains(scan_refusal("[" + name + ", " + name + "]"),
                   "entry \"" + name + "\" of augment: makes a field that is there already"));
  }
  CHECK(scan_refusal("[skeleton, {skeleton: {to: thinner, grow: 0}}]") == "no error");
  CHECK(contains(scan_refusal("[{skeleton: {to: scan}}]"), "there already"));
}

TEST_CASE("patches that are made on a device get the same intensities, drawn before the batch") {
  const auto scan_of = [](const app::AugmentSteps& steps) {
    std::string bytes;
    Loader loader = steps.after_batch(steps.before_batch(scans()).batch({.size = 4})).build();
    for (int epoch = 0; epoch < 2; ++epoch) {
      for (const Batch& batch : loader.epoch(epoch)) {
        const Tensor scan = batch["scan"];
        bytes.append(static_cast<const char*>(scan.raw()), scan.bytes());
      }
    }
    return bytes;
  };
  for (const std::string& entry : {std::string("nnunet_intensity"), all_parts_text}) {
    const app::AugmentList list = app::augment_list("[" + entry + "]");
    const app::AugmentSteps in_host = app::make_augment_steps(list, scan_context());
    CHECK(in_host.on_batches.empty());
    app::AugmentContext given = scan_context();
    given.patch_on_device = true;
    const app::AugmentSteps steps = app::make_augment_steps(list, given);
    CHECK(steps.on_samples.size() == 1);
    CHECK(steps.on_batches.size() == 1);
    CHECK(scan_of(steps) == scan_of(in_host));
  }
}

TEST_CASE("what works on patches in host memory is refused where a device makes them") {
  app::AugmentContext given = scan_context();
  given.patch_on_device = true;
  given.device = Device::cuda(0);
  CHECK(scan_refusal("[nnunet_intensity]", given) == "no error");
  CHECK(contains(scan_refusal("[nnunet_intensity, nnunet_intensity]", given), "there already"));
  const auto check_host = [&](const std::string& name) {
    CHECK(
        contains(scan_refusal("[" + name + "]", given),
                 "entry \"" + name +
                     "\" of augment: works in host memory, but these patches are made on cuda:0"));
    CHECK_FALSE(app::all_on_device(app::augment_list("[" + name + "]")));
  };
  for (const std::string& name : names_on_volumes)
    check_host(name);
  for (const std::string& name : names_on_labels)
    check_host(name);
  for (const std::string list :
       {"[]", "[spatial]", "[nnunet_intensity]", "[spatial, nnunet_intensity]"})
    CHECK(app::all_on_device(app::augment_list(list)));
  for (const std::string list :
       {"[spatial, nnunet_intensity, skeleton]", "[nnunet_intensity, nnunet_intensity]", "[flip]"})
    CHECK_FALSE(app::all_on_device(app::augment_list(list)));
}

TEST_CASE("pictures' operations on volumes, and volumes' on pictures, say what they need") {
  app::AugmentContext photos{.fields = {FieldSpec::fixed("photo", DType::uint8, {32, 32, 3}),
                                        FieldSpec::fixed("mask", DType::uint8, {32, 32})},
                             .masks = {"mask"}};
  for (const std::string& name : names_on_volumes)
    CHECK(contains(scan_refusal("[" + name + "]", photos),
                   "entry \"" + name +
                       "\" of augment: needs a volume, float32 [channels, z, y, x], "
                       "got {photo: uint8 [32, 32, 3], mask: uint8 [32, 32]}"));
  CHECK(contains(scan_refusal("[nnunet_intensity]", photos), "needs a volume"));
  for (const std::string& name : names_on_labels)
    CHECK(contains(scan_refusal("[" + name + "]", photos), "[z, y, x]"));
  photos.masks.clear();
  for (const std::string& name : names_on_labels)
    CHECK(contains(scan_refusal("[" + name + "]", photos), "needs the label of a volume"));
  // The label of a volume has a picture's form, and is none.
  for (const std::string name :
       {"flip", "rotate", "clahe", "random_resized_crop", "resize", "cutmix"})
    CHECK(contains(scan_refusal("[" + name + "]"),
                   "needs a picture, uint8 [height, width, channels], got {scan: float32"));
  CHECK(contains(scan_refusal("[{spec_augment: {fill: 0}}]"), "needs a spectrogram"));
  CHECK(contains(scan_refusal("[mixup, volume_noise]"), "needs a picture"));
}

TEST_CASE("evaluation without the list is fed volumes of the same shape") {
  app::AugmentContext given = scan_context();
  given.keeps_shapes = true;
  CHECK(contains(scan_refusal("[skeleton, slice_jitter]", given),
                 "moves voxels and must stand before the operation that makes \"skeleton\""));
  CHECK(contains(scan_refusal("[deep_supervision_targets, gaussian_blur]", given),
                 "needs a picture"));
  CHECK(scan_refusal("[nnunet_intensity, slice_jitter, skeleton, deep_supervision_targets]",
                     given) == "no error");
}
