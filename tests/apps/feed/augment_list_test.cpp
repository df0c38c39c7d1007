#include <headrace/apps/feed/augment.h>
#include <headrace/apps/feed/augment/operation.h>
#include <headrace/apps/feed/make_loader_job.h>
#include <headrace/augment/rotate.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/loaders/image/decode_image.h>
#include <headrace/loaders/image/image_folder.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/source_folder.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

namespace app = headrace::app;
namespace fs = std::filesystem;
using headrace::DType;
using headrace::FieldSpec;
using headrace::Schema;
using headrace::test::bytes_of;
using headrace::test::contains;
using headrace::test::TemporaryFolder;

/// Records with a picture, its mask, a spectrogram, a waveform, a volume, its label and a label.
class Everything final : public headrace::Source {
 public:
  std::string name() const override { return "everything"; }
  std::int64_t size() const override { return 12; }
  Schema fields() const override {
    return {FieldSpec::fixed("photo", DType::uint8, {32, 32, 3}),
            FieldSpec::fixed("mask", DType::uint8, {32, 32}),
            FieldSpec::fixed("mel", DType::float32, {16, 20}),
            FieldSpec::fixed("sound", DType::float32, {4096}),
            FieldSpec::fixed("scan", DType::float32, {1, 8, 9, 10}),
            FieldSpec::fixed("parts", DType::uint8, {8, 9, 10}),
            FieldSpec::fixed("label", DType::int64, {})};
  }
  void read(std::int64_t index, headrace::Sample& sample) const override {
    auto* photo = sample.make("photo", DType::uint8, {32, 32, 3}).data<std::uint8_t>();
    for (int i = 0; i < 32 * 32 * 3; ++i)
      photo[i] = static_cast<std::uint8_t>(i * 7 + index * 31);
    auto* mask = sample.make("mask", DType::uint8, {32, 32}).data<std::uint8_t>();
    for (int i = 0; i < 32 * 32; ++i)
      mask[i] = static_cast<std::uint8_t>(i % 3);
    auto* mel = sample.make("mel", DType::float32, {16, 20}).data<float>();
    for (int i = 0; i < 320; ++i)
      mel[i] = static_cast<float>(-i);
    auto* sound = sample.make("sound", DType::float32, {4096}).data<float>();
    for (int i = 0; i < 4096; ++i)
      sound[i] = static_cast<float>(std::sin(0.1 * i));
    auto* scan = sample.make("scan", DType::float32, {1, 8, 9, 10}).data<float>();
    auto* parts = sample.make("parts", DType::uint8, {8, 9, 10}).data<std::uint8_t>();
    for (int i = 0; i < 720; ++i) {
      scan[i] = static_cast<float>(std::sin(0.3 * i + static_cast<double>(index)));
      parts[i] = static_cast<std::uint8_t>(i % 7 == 0);
    }
    sample.set_scalar<std::int64_t>("label", index % 3);
  }
};

app::AugmentContext context() {
  return {.fields = Everything().fields(), .masks = {"mask"}, .mean = -20.0, .classes = 3};
}

/// A list's batches of two epochs.
std::string delivered(const std::string& list, const app::AugmentContext& given = context()) {
  const app::AugmentSteps steps = app::make_augment_steps(app::augment_list(list), given);
  auto pipeline = headrace::Pipeline::from(Everything()).order(headrace::Shuffled{.seed = 3});
  pipeline = steps.before_batch(std::move(pipeline)).batch({.size = 4});
  return bytes_of(steps.after_batch(std::move(pipeline)).build());
}

std::string list_refusal(const std::string& list, const app::AugmentContext& given = context()) {
  try {
    app::make_augment_steps(app::augment_list(list), given);
  } catch (const headrace::ConfigError& error) {
    return error.what();
  }
  return "no error";
}

app::LoaderConfig pictures_of(const fs::path& folder) {
  app::LoaderConfig config;
  config.data.source = app::SourceKind::images;
  config.data.folder = folder;
  config.data.listings.clear();
  config.image = {.side = 24};
  config.batch = 5;
  config.threads.loader = 1;
  return config;
}

}  // namespace

TEST_CASE("every operation of the table runs as its name alone and changes what it works on") {
  const std::string plain = delivered("[]");
  const std::set<std::string> on_labels{"slice_jitter",  "distance_transform",
                                        "skeleton",      "soft_skeleton",
                                        "betti_targets", "deep_supervision_targets"};
  for (const app::AugmentRow& row : app::augment_table()) {
    CAPTURE(row.name);
    std::string entry = row.name;
    if (row.name == "color_jitter") entry = "{color_jitter: {brightness: 0.4}}";
    if (row.name == "affine") entry = "{affine: {degrees: [-10, 10]}}";
    if (row.cuts_patches) continue;  // no step
    if (row.name == "patch_dropout") entry = "{patch_dropout: {cell: [4, 4, 4]}}";
    if (row.name == "volume_low_resolution")
      entry = "{volume_low_resolution: {p: 1, channel_p: 1}}";
    if (row.name == "resize" || row.name == "center_crop" || row.name == "resized_center_crop")
      entry = "{" + row.name + ": 16}";
    app::AugmentContext given = context();
    if (on_labels.contains(row.name)) given.masks = {"parts"};
    const std::string with = delivered("[" + entry + "]", given);
    CHECK(with != plain);
    CHECK(delivered("[" + entry + "]", given) == with);
  }
}

TEST_CASE("every public operation of augment has its file in the list's folder") {
  const fs::path root = headrace::test::source_folder();
  std::string files;
  for (const auto& entry : fs::directory_iterator(root / "apps/feed/augment"))
    files += headrace::test::content_of(entry.path());
  // The window of a task's arrays is their section `array`; predictions are no samples, nor is what
  // measures look at.
  const std::set<std::string> others{"frame_window", "closing",           "components",
                                     "grid_extent",  "label_overlap",     "resample_scores",
                                     "window_grid",  "volume_parameters", "smooth_scores",
                                     "betti",        "voxel_bits",        "voxel_runs"};
  for (const char* folder : {"augment", "augment/spectrogram", "augment/volume"}) {
    for (const auto& entry : fs::directory_iterator(root / folder)) {
      if (entry.path().extension() != ".h" || others.contains(entry.path().stem())) continue;
      const std::string header = std::string(folder) + "/" + entry.path().filename().string();
      CHECK_MESSAGE(contains(files, "#include <headrace/" + header + ">"), header);
    }
  }
}

TEST_CASE("rotate is bilinear in every kind, and masks stay labels") {
  const TemporaryFolder folder;
  headrace::test::write_png_pictures(folder.path() / "images", 11);
  app::LoaderConfig config = pictures_of(folder.path() / "images");
  config.augment = app::augment_list("[{rotate: 10}]");
  const std::string made = bytes_of(app::make_loader_job(config).build());
  const auto by_hand = [&](headrace::Interpolation interpolation) {
    return bytes_of(headrace::Pipeline::from(headrace::ImageFolder{folder.path() / "images"})
                        .named("bench")
                        .seed(config.seed)
                        .order(headrace::Shuffled{.seed = config.seed})
                        .then(headrace::DecodeImage{.crop = headrace::ResizeTo{24, 24}})
                        .then(headrace::Rotate{.degrees = 10.0, .interpolation = interpolation})
                        .batch({.size = 5, .tail = headrace::Tail::drop})
                        .build());
  };
  CHECK(made == by_hand(headrace::Interpolation::bilinear));
  CHECK(made != by_hand(headrace::Interpolation::nearest));
  config.augment = app::augment_list("[{rotate: {degrees: 10, interpolation: nearest}}]");
  CHECK(bytes_of(app::make_loader_job(config).build()) ==
        by_hand(headrace::Interpolation::nearest));
  const app::AugmentSteps steps =
      app::make_augment_steps(app::augment_list("[{rotate: 40}]"), context());
  auto loader =
      steps.before_batch(headrace::Pipeline::from(Everything())).batch({.size = 4}).build();
  for (const headrace::Batch& batch : loader.epoch(0)) {
    for (const std::uint8_t label : batch["mask"].values<std::uint8_t>())
      CHECK(label < 3);
  }
}

TEST_CASE("a crop that leads the list is made while a picture is decoded, with a flip behind it") {
  const TemporaryFolder folder;
  headrace::test::write_png_pictures(folder.path() / "images", 11);
  app::LoaderConfig config = pictures_of(folder.path() / "images");
  const auto graph = [&](const std::string& list) {
    config.augment = app::augment_list(list);
    return app::make_loader_job(config).build().describe();
  };
  CHECK(contains(graph("[{rotate: 5}]"), "rotate"));
  const std::string fused = graph("[{random_resized_crop: {scale: [0.5, 1]}}, flip, {rotate: 5}]");
  CHECK(contains(fused, "rotate"));
  CHECK_FALSE(contains(fused, "crop"));
  CHECK_FALSE(contains(fused, "flip"));
  CHECK(contains(graph("[resized_center_crop, flip]"), "flip"));
  CHECK(contains(graph("[{rotate: 5}, random_resized_crop]"), "crop"));
}

TEST_CASE("an operation that does not fit is refused with the place of its entry") {
  CHECK(list_refusal("[{flip: 2}]") ==
        "[config] augment:1:18: key \"augment.0.flip.p\" must be at least 0.0 and at most 1.0, got "
        "\"2\"");
  CHECK(contains(list_refusal("[flipp]"), "did you mean \"flip\"?"));
  CHECK(contains(list_refusal("[{rotate: {degres: 3}}]"), "did you mean \"degrees\"?"));
  CHECK(contains(list_refusal("[mixup, {rotate: 5}]"),
                 "[config] augment:1:19: entry \"rotate\" of augment: works on samples and must "
                 "stand before mixup, which works on batches"));
  const app::AugmentContext sounds{.fields = {FieldSpec::fixed("mel", DType::float16, {64, 5})},
                                   .mean = -30.0};
  CHECK(contains(list_refusal("[rotate]", sounds),
                 "entry \"rotate\" of augment: needs a picture, uint8 [height, width, channels], "
                 "got {mel: float16 [64, 5]}"));
  const app::AugmentContext photos{.fields = {FieldSpec::fixed("image", DType::uint8, {8, 8, 3})}};
  CHECK(contains(list_refusal("[spec_augment]", photos), "needs a fill"));
  CHECK(contains(list_refusal("[{spec_augment: {fill: 0}}]", photos), "needs a spectrogram"));
  CHECK(contains(list_refusal("[{gaussian_blur: 4}]"),
                 "entry \"gaussian_blur\" of augment: [blur] height and width must be odd"));
  CHECK(contains(list_refusal("[{center_crop: 99}]"),
                 "entry \"center_crop\" of augment: [center crop]"));
  CHECK(contains(list_refusal("[mixup, cutmix]"), "entry \"cutmix\" of augment: [mix] field"));
}

TEST_CASE("what a job cannot have is refused with the way out") {
  app::AugmentContext given = context();
  given.device = headrace::Device::cuda(0);
  CHECK(contains(list_refusal("[mixup]", given), "works in host memory"));
  CHECK(list_refusal("[spec_augment]", given) == "no error");
  given = context();
  given.normalized = true;
  CHECK(contains(list_refusal("[normalize]", given), "normalises its pictures itself"));
  given = context();
  given.in_table = true;
  CHECK(contains(list_refusal("[flip]", given), "data.residence: host"));
  CHECK(list_refusal("[spec_augment]", given) == "no error");
  given = context();
  given.classes = 0;
  CHECK(list_refusal("[mixup]", given) == "no error");
  CHECK(contains(list_refusal("[{mixup: {soft_labels: true}}]", given), "how many classes"));
}

TEST_CASE("a group that does not divide the batch is refused before anything runs, by both keys") {
  app::AugmentContext given = context();
  given.batch = 128;
  given.batch_key = "training.batch";
  for (const std::string name : {"mixup", "cutmix", "mixup_or_cutmix"}) {
    CHECK(list_refusal("[" + name + "]", given) == "no error");
    CHECK(list_refusal("[{" + name + ": {group: 64}}]", given) == "no error");
    CHECK(contains(list_refusal("[{" + name + ": {group: 3}}]", given),
                   "entry \"" + name +
                       "\" of augment: group must divide training.batch, got group 3 and "
                       "training.batch 128"));
  }
  given.batch = 2;
  CHECK(contains(list_refusal("[{mixup: {group: 4}}]", given), "got group 4 and training.batch 2"));
}

TEST_CASE("where evaluation does without the list, an entry that changes a shape is refused") {
  app::AugmentContext given = context();
  given.keeps_shapes = true;
  for (const std::string list :
       {"[flip, {rotate: 10}, random_resized_crop, mixup]", "[{center_crop: 32}]", "[spec_augment]",
        "[{mixup: {soft_labels: true}}]"})
    CHECK(list_refusal(list, given) == "no error");
  CHECK(contains(list_refusal("[flip, {center_crop: 16}]", given),
                 "[config] augment:1:18: entry \"center_crop\" of augment: makes photo: uint8 [16, "
                 "16, 3] of photo: uint8 [32, 32, 3], but validation and test are fed without the "
                 "list"));
  for (const std::string name : {"random_resized_crop", "resized_center_crop", "resize"})
    CHECK(contains(list_refusal("[{" + name + ": 24}]", given), "makes photo: uint8 [24, 24, 3]"));
  CHECK(contains(list_refusal("[log_mel]", given), "makes nothing of sound"));
  CHECK(list_refusal("[{log_mel: {keep_waveform: true}}]", given) == "no error");
}

TEST_CASE("where the GPU decodes, what works on pictures in host memory is refused by its key") {
  const TemporaryFolder folder;
  headrace::test::write_png_pictures(folder.path() / "images", 11);
  app::LoaderConfig config = pictures_of(folder.path() / "images");
  config.image.decode = headrace::Device::Kind::cuda;
  const auto said = [&](const std::string& list) {
    config.augment = app::augment_list(list);
    try {
      app::make_loader_job(config).forecast();
    } catch (const headrace::Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const std::string rule = "with image.decode: cuda the GPU makes them";
  for (const std::string list :
       {"[]", "[flip]", "[random_resized_crop, flip]", "[resize, flip]", "[flip, normalize]"}) {
    CAPTURE(list);  // what is said is that there is no GPU, where there is none
    CHECK_FALSE(contains(said(list), rule));
  }
  CHECK(contains(said("[flip, {rotate: 5}]"), "entry \"rotate\" of augment: works on pictures"));
  CHECK(contains(said("[{rotate: 5}, flip]"), rule));
  CHECK(contains(said("[random_resized_crop, vertical_flip]"), "entry \"vertical_flip\""));
  config.image.resize = 30;
  CHECK_FALSE(contains(said("[flip]"), rule));
  CHECK(contains(said("[random_resized_crop, flip]"), "entry \"random_resized_crop\" of augment"));
  config.data.cache.memory = {1 << 20};
  CHECK(contains(said("[]"), "[config] data.cache: keeps pictures in host memory, but " + rule));
  config.data.cache = {};
  config.delay.augment = {0.001};
  CHECK(contains(said("[]"), "delay.augment: are added to pictures in host memory, but " + rule));
}

TEST_CASE("mixup adds lambda and partner, or makes soft labels of the job's classes") {
  const auto fields = [](const std::string& list) {
    return app::make_augment_steps(app::augment_list(list), context()).fields;
  };
  CHECK(fields("[mixup]").at("lambda").dtype == DType::float32);
  CHECK(fields("[{cutmix: 1.0}]").at("label_partner").dtype == DType::int64);
  CHECK(fields("[{mixup: {soft_labels: true}}]").at("label").shape == headrace::Shape{3});
}

TEST_CASE("a list means the same read from a file, from a setting and from what was written") {
  app::LoaderConfig config;
  app::Fields fields;
  app::describe(fields, config);
  app::Node document = app::parse_document(
      "data: {source: images, folder: x}\naugment:\n  - flip: 0.25\n  - rotate: 10\n", "job.yaml");
  app::apply_override(document, "augment.1.rotate.fill=7");
  fields.read(document);
  const std::string text = fields.to_yaml();
  CHECK(contains(text,
                 "augment:\n  - {flip: {p: 0.25}}\n  - {rotate: {degrees: 10.0, "
                 "interpolation: bilinear, fill: 7, mask_fill: 0}}\n"));
  app::LoaderConfig again;
  app::Fields same;
  app::describe(same, again);
  same.read(app::parse_document(text, "written.yaml"));
  CHECK(same.to_yaml() == text);
}

TEST_CASE("the page of operations says what the table says") {
  const fs::path page = fs::path(headrace::test::source_folder()) / "docs/augment.md";
  const std::string mark = "<!-- the table, as the test of this page writes it -->\n";
  const std::string text = headrace::test::content_of(page);
  const auto start = text.find(mark);
  REQUIRE(start != std::string::npos);
  const std::string before = text.substr(0, start + mark.size());
  const std::string wanted = before + app::augment_table_text();
  if (std::getenv("HEADRACE_WRITE_DOCS") != nullptr) std::ofstream(page) << wanted;
  CHECK_MESSAGE(headrace::test::content_of(page) == wanted,
                "run this test once with HEADRACE_WRITE_DOCS=1");
}
