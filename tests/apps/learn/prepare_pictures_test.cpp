// What image.prepare does to every picture of a task, in training and evaluation alike.
#include <headrace/apps/feed/augment.h>
#include <headrace/apps/feed/cache_settings.h>
#include <headrace/apps/learn/picture_job.h>
#include <headrace/apps/learn/task_config.h>
#include <headrace/apps/task/pipelines.h>
#include <headrace/augment/clahe.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/loaders/image/decode_image.h>
#include <headrace/loaders/image/image_folder.h>
#include <headrace/loaders/image/image_pairs.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/support/temporary_folder.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using test::bytes_of;
using test::TemporaryFolder;

namespace {

constexpr int picture_side = 32;
constexpr std::int64_t batch = 4;

app::TaskFeed feed_with(const std::string& prepare, const std::string& augment) {
  app::TaskFeed feed{.seed = 7, .classes = 2, .normalize = {.mean = {0.0F}, .std = {1.0F}}};
  feed.task.image.decode.side = picture_side;
  feed.task.image.prepare = app::prepare_list(prepare);
  feed.task.augment = app::augment_list(augment);
  return feed;
}

Pipeline trained_on(const std::shared_ptr<const Source>& records, const app::TaskFeed& feed) {
  return app::augmented_pipeline(records, feed, {.size = batch}, Device::cpu())
      .order(Shuffled{.seed = feed.seed});
}

/// The same by hand, but for what follows.
Pipeline pictures_by_hand(const std::shared_ptr<const Source>& records, DecodeImage decode) {
  return Pipeline::from(records)
      .named("train")
      .seed(7)
      .order(Shuffled{.seed = 7})
      .then(std::move(decode));
}

std::shared_ptr<const Source> pictures(const TemporaryFolder& folder) {
  test::write_png_pictures(folder.path() / "images", 11);
  return std::make_shared<const ImageFolder>(folder.path() / "images");
}

std::string prepare_refusal(const std::string& prepare) {
  try {
    app::ImageSettings image{.decode = {.side = picture_side},
                             .prepare = app::prepare_list(prepare)};
    check(image);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

/// A task on pictures of no kind of its own.
struct AnyTask final : app::TaskConfig {};

}  // namespace

TEST_CASE("training and evaluation see the same prepared pictures") {
  const TemporaryFolder folder;
  const auto records = pictures(folder);
  const app::TaskFeed feed = feed_with("[{clahe: 3.0}]", "[]");
  const Clahe clahe{.clip_limit = 3.0};
  const DecodeImage whole{.crop = ResizeTo{picture_side, picture_side}};
  const std::string trained = bytes_of(trained_on(records, feed).build());
  CHECK(trained ==
        bytes_of(pictures_by_hand(records, whole).then(clahe).batch({.size = batch}).build()));
  CHECK(trained != bytes_of(pictures_by_hand(records, whole).batch({.size = batch}).build()));
  const DecodeImage middle{
      .crop = ResizedCenterCrop{.resize = 37, .height = picture_side, .width = picture_side}};
  CHECK(bytes_of(app::evaluation_pipeline(records, feed, batch, Device::cpu()).build()) ==
        bytes_of(Pipeline::from(records)
                     .then(middle)
                     .then(clahe)
                     .batch({.size = batch, .tail = Tail::shorter})
                     .then(feed.normalize)
                     .build()));
}

TEST_CASE("where a crop is drawn while a picture is decoded, the crop is prepared") {
  const TemporaryFolder folder;
  const auto records = pictures(folder);
  const app::TaskFeed feed =
      feed_with("[flatten_sharpen, clahe]", "[random_resized_crop, {flip: 0.5}, {rotate: 20}]");
  const DecodeImage crop{.crop = RandomResizedCrop{.height = picture_side, .width = picture_side},
                         .flip = 0.5F};
  const auto list = [&](const char* operations) {
    return app::make_augment_steps(app::augment_list(operations),
                                   {.fields = crop.schema(records->fields())});
  };
  const std::string made = bytes_of(trained_on(records, feed).build());
  CHECK(made == bytes_of(list("[flatten_sharpen, clahe, {rotate: 20}]")
                             .before_batch(pictures_by_hand(records, crop))
                             .batch({.size = batch})
                             .build()));
  CHECK(made != bytes_of(list("[{rotate: 20}, flatten_sharpen, clahe]")
                             .before_batch(pictures_by_hand(records, crop))
                             .batch({.size = batch})
                             .build()));
}

TEST_CASE("prepared pictures are the same on 1, 2 and 8 threads, with a cache and without") {
  const TemporaryFolder folder;
  const auto records = pictures(folder);
  app::TaskFeed feed = feed_with("[clahe, {flatten_sharpen: 0.5}]", "[random_resized_crop, flip]");
  feed.task.image.decode.resize = 48;
  std::vector<std::string> made;
  for (const std::uint64_t bytes : {0, 1 << 20}) {
    feed.task.data.cache.memory = {bytes};
    for (const int threads : {1, 2, 8})
      made.push_back(
          bytes_of(trained_on(records, feed).build({.runtime = Runtime({.threads = threads})})));
  }
  for (const std::string& bytes : made)
    CHECK(bytes == made.front());
}

TEST_CASE("a cache keeps what is prepared: each picture is prepared once") {
  const TemporaryFolder folder;
  const auto records = pictures(folder);
  const DecodeImage decode{.crop = ResizeTo{picture_side, picture_side}};
  for (const bool cached : {true, false}) {
    std::atomic<int> calls{0};
    app::PreparePictures prepare;
    prepare.add([&calls](Sample&) { ++calls; });
    app::CacheSettings settings;
    if (cached) settings.memory = {1 << 20};
    Loader loader = app::with_cache(records, settings, decode.schema(records->fields()))
                        .samples(decode, {}, prepare)
                        .batch({.size = batch, .tail = Tail::shorter})
                        .build();
    const auto calls_after = [&](std::int64_t first, std::int64_t end) {
      for (std::int64_t epoch = first; epoch < end; ++epoch)
        for (const Batch& one : loader.epoch(epoch))
          static_cast<void>(one);
      return calls.load();
    };
    // A record of the next epoch may be under way before that of this one is kept.
    const int at_first = calls_after(0, 4);
    const int in_the_end = calls_after(4, 8);
    CHECK(at_first >= 11);
    if (cached)
      CHECK(in_the_end == at_first);
    else
      CHECK(in_the_end >= 8 * 11);
  }
}

TEST_CASE("a picture is prepared, its mask is not") {
  const TemporaryFolder folder;
  test::write_squares(folder.path() / "i", folder.path() / "m", 5, 1);
  const auto records = std::make_shared<const ImagePairs>(
      ImagePairsOptions{.images = folder.path() / "i", .masks = folder.path() / "m"});
  const auto fields = [&](const std::string& prepare, const char* field) {
    app::TaskFeed feed = feed_with(prepare, "[]");
    feed.whole = true;
    Loader loader = app::evaluation_pipeline(records, feed, 5, Device::cpu()).build();
    const NextBatch next = loader.next();
    const Tensor& values = next.batch[field];
    const auto* first = static_cast<const char*>(values.raw());
    return std::string(first, values.bytes());
  };
  CHECK(fields("[clahe]", "mask") == fields("[]", "mask"));
  CHECK(fields("[clahe]", "image") != fields("[]", "image"));
}

TEST_CASE("inspect shows pictures as they are prepared") {
  const TemporaryFolder folder;
  pictures(folder);
  AnyTask task;
  task.task.data.train.folder = folder.path() / "images";
  task.task.data.listings.clear();
  task.task.image.decode.side = picture_side;
  const auto first = [&](const std::string& prepare) {
    task.task.image.prepare = app::prepare_list(prepare);
    const std::vector<app::DataPart> parts = app::picture_data_parts({.config = task});
    Sample sample;
    parts.front().records->read(0, sample);
    parts.front().make(sample);
    const auto values = sample["image"].values<std::uint8_t>();
    return std::vector<std::uint8_t>(values.begin(), values.end());
  };
  const auto grey = first("[{flatten_sharpen: {brightness: 0, contrast: 0}}]");
  CHECK(grey == std::vector<std::uint8_t>(picture_side * picture_side * 3, 128));
  CHECK(first("[]") != grey);
}

TEST_CASE("what cannot be done to every picture alike is refused with the entry's place") {
  CHECK(prepare_refusal("[clahe, flatten_sharpen]") == "no error");
  CHECK(
      prepare_refusal("[clahe, {rotate: 5}]") ==
      "[config] image:1:19: entry \"rotate\" of image.prepare: draws at random, but what prepares "
      "pictures is done to every picture alike, in training, validation, test and predictions; "
      "move it to the list augment, or leave it out");
  for (const std::string name : {"flip", "random_resized_crop", "{color_jitter: {brightness: 0.2}}",
                                 "rand_augment", "random_erasing", "gaussian_blur"})
    CHECK(prepare_refusal("[" + name + "]").find("of image.prepare: draws at random") !=
          std::string::npos);
  for (const std::string name : {"mixup", "cutmix", "normalize"})
    CHECK(prepare_refusal("[" + name + "]").find("of image.prepare: works on batches") !=
          std::string::npos);
  CHECK(prepare_refusal("[{resize: 16}]")
            .find("of image.prepare: makes {image: uint8 [16, 16, 3]} of") != std::string::npos);
  CHECK(prepare_refusal("[{clahe: {tiles_high: 17}}]").find("2 pixels along each side") !=
        std::string::npos);
  CHECK(prepare_refusal("[spec_augment]") != "no error");
  CHECK(prepare_refusal("[skeleton]") != "no error");
}

TEST_CASE("where the GPU decodes, nothing prepares pictures in host memory") {
  const TemporaryFolder folder;
  const auto records = pictures(folder);
  app::TaskFeed feed = feed_with("[clahe]", "[]");
  feed.task.image.decode.decode = Device::Kind::cuda;
  CHECK_THROWS_WITH_AS(trained_on(records, feed),
                       doctest::Contains("entry \"clahe\" of image.prepare: works on pictures in "
                                         "host memory, but with image.decode: cuda"),
                       ConfigError);
}
