// Where records of a task lie, how they are divided, and what masks mean.
#include <headrace/apps/task/channel_statistics.h>
#include <headrace/apps/task/find_data.h>
#include <headrace/apps/task/mask_settings.h>
#include <headrace/apps/task/records.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_folder.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/support/temporary_folder.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
namespace fs = std::filesystem;

namespace {

void touch(const fs::path& file) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << "x";
}

std::string records_refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const ConfigError& error) {
    return error.what();
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

app::TaskData picture_data(const fs::path& folder) {
  app::TaskData data;
  data.train.folder = folder;
  data.listings.clear();
  return data;
}

}  // namespace

TEST_CASE("data are found by what their folders are called") {
  const test::TemporaryFolder root;
  touch(root / "classes/cat/1.png");
  CHECK(app::find_classes(root / "classes").train.source == app::RecordsIn::images);
  touch(root / "parts/train/cat/1.png");
  touch(root / "parts/val/cat/1.png");
  const app::FoundData parts = app::find_classes(root / "parts");
  CHECK(parts.train.folder.filename() == "train");
  REQUIRE(parts.validation.has_value());
  CHECK(parts.validation->folder.filename() == "val");
  CHECK_FALSE(parts.test.has_value());

  touch(root / "masks/Imgs/1.jpg");
  touch(root / "masks/GT_Object/1.png");
  CHECK(app::find_masks(root / "masks").train.folder.filename() == "Imgs");
  CHECK(app::find_masks(root / "masks").train.masks.filename() == "GT_Object");
  touch(root / "beside/1.jpg");
  touch(root / "beside/1_mask.png");
  CHECK(app::find_masks(root / "beside").train.mask_suffix == "_mask");
  for (const char* name : {"1", "11"}) {
    touch(root / "isic/images" / (std::string(name) + ".jpg"));
    touch(root / "isic/masks" / (std::string(name) + "_segmentation.png"));
  }
  CHECK(app::find_masks(root / "isic").train.mask_suffix == "_segmentation");
  CHECK(app::find_masks(root / "isic/images", root / "isic/masks").train.mask_suffix ==
        "_segmentation");
  for (const char* name : {"1", "11"})
    touch(root / "isic/masks" / (std::string(name) + "_mask.png"));
  CHECK(records_refusal([&] { app::find_masks(root / "isic"); })
            .find("as many end in \"_mask\" as in \"_segmentation\"; say which they are: "
                  "--mask-suffix=_mask") != std::string::npos);
  CHECK(app::find_masks(root / "isic", {}, "_mask").train.mask_suffix == "_mask");
  touch(root / "list.csv");
  CHECK(app::find_masks(root / "list.csv").train.source == app::RecordsIn::manifest);
}

TEST_CASE("COD10K, as it is unpacked, is found by its parts") {
  const test::TemporaryFolder root;
  for (const char* part : {"Train", "Test"}) {
    touch(root.path() / part / "Image/COD10K-CAM-1-Aquatic-1-BatFish-1.jpg");
    for (const char* kind : {"GT_Object", "GT_Instance", "GT_Edge"})
      touch(root.path() / part / kind / "COD10K-CAM-1-Aquatic-1-BatFish-1.png");
  }
  touch(root / "Train/GT_Detection/COD10K-CAM-1-Aquatic-1-BatFish-1.txt");
  touch(root / "Info/CAM_Instance_Train.txt");
  const app::FoundData found = app::find_masks(root.path());
  CHECK(found.train.source == app::RecordsIn::pairs);
  CHECK(found.train.folder == root / "Train/Image");
  CHECK(found.train.masks == root / "Train/GT_Object");
  CHECK_FALSE(found.train.spare_masks);
  CHECK_FALSE(found.validation.has_value());
  REQUIRE(found.test.has_value());
  CHECK(found.test->folder == root / "Test/Image");
  CHECK(found.test->masks == root / "Test/GT_Object");
}

TEST_CASE("SINet's folders are found, and several data sets to test on are not taken for one") {
  const test::TemporaryFolder root;
  touch(root / "TrainDataset/Imgs/camourflage_00001.jpg");
  touch(root / "TrainDataset/GT/camourflage_00001.png");
  touch(root / "TrainDataset/Edge/camourflage_00001.png");
  touch(root / "TestDataset/CAMO/Imgs/camourflage_00012.jpg");
  touch(root / "TestDataset/CAMO/GT/camourflage_00012.png");
  const app::FoundData found = app::find_masks(root.path());
  CHECK(found.train.folder == root / "TrainDataset/Imgs");
  CHECK(found.train.masks == root / "TrainDataset/GT");
  REQUIRE(found.test.has_value());
  CHECK(found.test->folder == root / "TestDataset/CAMO/Imgs");
  touch(root / "TestDataset/CHAMELEON/Imgs/animal-1.jpg");
  touch(root / "TestDataset/CHAMELEON/GT/animal-1.png");
  CHECK(records_refusal([&] { app::find_masks(root.path()); }).find("(CAMO, CHAMELEON)") !=
        std::string::npos);
  CHECK(app::find_masks(root / "TrainDataset").train.folder == root / "TrainDataset/Imgs");
  CHECK(app::find_masks(root / "TestDataset/CHAMELEON").train.masks ==
        root / "TestDataset/CHAMELEON/GT");
}

TEST_CASE("CAMO's one folder of masks serves its two folders of pictures") {
  const test::TemporaryFolder root;
  touch(root / "Images/Train/camourflage_00001.jpg");
  touch(root / "Images/Test/camourflage_00012.jpg");
  touch(root / "GT/camourflage_00001.png");
  touch(root / "GT/camourflage_00012.png");
  const app::FoundData found = app::find_masks(root.path());
  CHECK(found.train.folder == root / "Images/Train");
  CHECK(found.train.masks == root / "GT");
  CHECK(found.train.spare_masks);
  REQUIRE(found.test.has_value());
  CHECK(found.test->folder == root / "Images/Test");
  CHECK(found.test->masks == root / "GT");
  app::TaskData data;
  data.train = found.train;
  data.test = *found.test;
  data.split.validation = 0.0;
  data.listings.clear();
  check(data);
  const app::TaskRecords records = app::open_records(data, true, 1);
  CHECK(records.members.at(0).test.size() == 1);
  data.train.spare_masks = false;
  CHECK(records_refusal([&] { app::open_records(data, true, 1); }).find("this mask has no image") !=
        std::string::npos);
}

TEST_CASE("pictures without a mask are passed over where that is asked for") {
  const test::TemporaryFolder root;
  for (const char* part : {"Train", "Test"}) {
    touch(root.path() / part / "Image/COD10K-CAM-1-Aquatic-1-BatFish-1.jpg");
    touch(root.path() / part / "Image/COD10K-NonCAM-5-Background-1-Sky-1.jpg");
    touch(root.path() / part / "GT_Object/COD10K-CAM-1-Aquatic-1-BatFish-1.png");
  }
  const app::FoundData found = app::find_masks(root.path());
  app::TaskData data;
  data.train = found.train;
  data.test = *found.test;
  data.split.validation = 0.0;
  data.listings = root / "listings";
  const auto refused = [&] { return records_refusal([&] { app::open_records(data, true, 1); }); };
  CHECK(refused().find("has no mask in") != std::string::npos);
  data.train.spare_pictures = true;
  CHECK(refused().find("Test/GT_Object; add it") != std::string::npos);
  data.test.spare_pictures = true;
  const app::TaskRecords records = app::open_records(data, true, 1);
  CHECK(records.members.at(0).train.size() == 1);
  CHECK(records.members.at(0).test.size() == 1);
  data.train.spare_pictures = false;
  CHECK(refused().find("Train/GT_Object; add it") != std::string::npos);

  app::TaskData keys;
  keys.train = found.train;
  keys.test = {.source = app::RecordsIn::pairs, .spare_pictures = true};
  CHECK(records_refusal([&] { check(keys); }).find("data.test must name its records") !=
        std::string::npos);
}

TEST_CASE("data of no known layout are refused with what they must look like") {
  const test::TemporaryFolder root;
  touch(root / "flat/1.png");
  CHECK(records_refusal([&] {
          app::find_classes(root / "flat");
        }).find("a folder for each class") != std::string::npos);
  CHECK(records_refusal([&] { app::find_masks(root / "flat"); }).find("--masks") !=
        std::string::npos);
  CHECK(records_refusal([&] { app::find_classes(root / "gone"); }).find("nothing of that name") !=
        std::string::npos);
}

TEST_CASE("records of their own take the place of a share") {
  const test::TemporaryFolder root;
  test::write_png_pictures(root / "train", 40);
  test::write_png_pictures(root / "test", 6);
  app::TaskData data = picture_data(root / "train");
  data.test.folder = root / "test";
  check(data);
  const app::TaskRecords records = app::open_records(data, false, 1);
  REQUIRE(records.members.size() == 1);
  CHECK(records.members[0].test.size() == 6);
  CHECK(records.members[0].validation.size() == 6);
  CHECK(records.members[0].train.size() == 34);
  data.split.test = 0.2;
  CHECK(records_refusal([&] { check(data); }).find("data.split.test must be 0") !=
        std::string::npos);
}

TEST_CASE("a column says what records are for, and other ways are then refused") {
  const test::TemporaryFolder root;
  test::write_png_pictures(root / "p", 6);
  std::ofstream(root / "list.csv") << "image,label,split\np/a/0.png,a,train\np/b/1.png,b,train\n"
                                      "p/a/2.png,a,val\np/b/3.png,b,test\n";
  app::TaskData data;
  data.train = {.source = app::RecordsIn::manifest, .file = root / "list.csv"};
  data.listings.clear();
  const app::TaskRecords records = app::open_records(data, false, 1);
  CHECK(records.members[0].train == std::vector<std::int64_t>{0, 1});
  CHECK(records.members[0].validation == std::vector<std::int64_t>{2});
  CHECK(records.members[0].test == std::vector<std::int64_t>{3});
  data.split.folds = 3;
  CHECK(records_refusal([&] { app::open_records(data, false, 1); }).find("column") !=
        std::string::npos);
}

TEST_CASE("parts with other classes, and classes without a record, are refused by name") {
  const test::TemporaryFolder root;
  test::write_png_pictures(root / "train", 8);
  touch(root / "test/zebra/1.png");
  app::TaskData data = picture_data(root / "train");
  data.test.folder = root / "test";
  CHECK(records_refusal([&] { app::open_records(data, false, 1); }).find("zebra") !=
        std::string::npos);
  CHECK(records_refusal([&] {
          app::open_records(picture_data(root / "train"), true, 1);
        }).find("mask") != std::string::npos);
}

TEST_CASE("statistics of a run are read back from its notes") {
  const app::ChannelStatistics known = app::imagenet_statistics();
  const app::ChannelStatistics again = app::parse_statistics(app::to_text(known));
  CHECK(again.mean == known.mean);
  CHECK(again.std == known.std);
  CHECK(known.mean == std::vector<float>{0.485F, 0.456F, 0.406F});
  CHECK_FALSE(records_refusal([] { app::parse_statistics("mean 1"); }).empty());
}

TEST_CASE("statistics of several members are read back, and each has its own") {
  const app::ChannelStatistics known = app::imagenet_statistics();
  const std::string text = app::to_text(std::vector{known, {.mean = {0.5F}, .std = {0.25F}}});
  const auto again = app::parse_members_statistics(text);
  REQUIRE(again.size() == 2);
  CHECK(again[0].mean == known.mean);
  CHECK(again[1].std == std::vector<float>{0.25F});
  CHECK(app::normalisation_of(text, 1) == app::to_text(again[1]));
  CHECK(app::normalisation_of("imagenet", 7) == "imagenet");
  CHECK(app::parse_members_statistics(app::to_text(known)).size() == 1);
  CHECK_FALSE(records_refusal([&] { app::parse_members_statistics(text + "; "); }).empty());
}

TEST_CASE("statistics of pictures are those of their pixels") {
  const test::TemporaryFolder root;
  test::write_png_pictures(root / "p", 4);
  const auto source = std::make_shared<const ImageFolder>(root / "p");
  app::ImageSettings image{.decode = {.side = 16}};
  const app::ChannelStatistics all = app::statistics_of(source, {0, 1, 2, 3}, image);
  const app::ChannelStatistics one = app::statistics_of(source, {0}, image);
  REQUIRE(all.mean.size() == 3);
  CHECK(all.mean != one.mean);
  double sum = 0.0;
  for (std::int64_t row = 0; row < 4; ++row)
    sum += app::statistics_of(source, {row}, image).mean[1];
  CHECK(all.mean[1] == doctest::Approx(sum / 4).epsilon(1e-5));
  image.prepare = app::prepare_list("[{flatten_sharpen: {brightness: 0, contrast: 0}}]");
  CHECK(app::statistics_of(source, {0, 1}, image).mean[1] == doctest::Approx(128 / 255.0));
}

TEST_CASE("masks mean what the section says: values, places in the list, colours") {
  const app::MaskFeed values = app::mask_feed(
      {.classes = {{.name = "ground"}, {.name = "thing", .values = {200, 300}}}, .ignore = {7}});
  REQUIRE(values.map.has_value());
  CHECK(values.dtype == DType::uint16);
  REQUIRE(values.map->values.size() == 3);
  CHECK(values.map->values[0].value == 0);
  CHECK(values.map->values[2].value == 300);
  CHECK(values.map->values[2].label == 1);
  CHECK(values.map->ignored == std::vector<std::uint16_t>{7});

  const app::MaskFeed colours =
      app::mask_feed({.classes = {{.name = "ground", .colours = {{0, 0, 0}}},
                                  {.name = "thing", .colours = {{255, 0, 0}}}},
                      .ignore_colours = {{1, 2, 3}}});
  CHECK_FALSE(colours.map.has_value());
  REQUIRE(colours.colours.size() == 3);
  CHECK(colours.colours[0].label == app::ignored_label);
  CHECK(colours.colours[2].red == 255);
  CHECK(colours.colours[2].label == 1);
}

TEST_CASE(
    "the word of records changes with number, order and labels, not with files or their place") {
  const test::TemporaryFolder root;
  for (const char* file : {"a/cat/1.png", "a/cat/2.png", "a/dog/3.png"})
    touch(root / file);
  const auto word = [&](const char* folder) {
    return app::records_word(ImageFolder(root / folder));
  };
  const std::string before = word("a");
  CHECK(before.starts_with("3 records, names "));
  std::ofstream(root / "a/cat/1.png") << "longer";
  CHECK(word("a") == before);
  fs::rename(root / "a", root / "moved");
  CHECK(word("moved") == before);
  const auto changed = [&](const char* from, const char* to) {
    fs::rename(root / from, root / to);
    const std::string now = word("moved");
    fs::rename(root / to, root / from);
    CHECK(now != before);
  };
  changed("moved/cat/1.png", "moved/cat/4.png");
  changed("moved/dog", "moved/hare");
  touch(root / "moved/dog/4.png");
  CHECK(word("moved").starts_with("4 records"));
}
