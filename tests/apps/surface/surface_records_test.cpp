// Volumes of the job surface as they come: the challenge's folders, nnU-Net's, data sets of their
// own to validate and to test with.
#include <headrace/apps/jobs/surface/config.h>
#include <headrace/apps/learn/volume_job.h>
#include <headrace/apps/task/find_volume_cases.h>
#include <headrace/apps/task/volume_records.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/apps/surface/sheet_volumes.h>
#include <headrace/tests/apps/text_checks.h>
#include <headrace/tests/support/temporary_folder.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace headrace;
using namespace headrace::test;
using app::SurfaceConfig;
using app::VolumeRecords;

namespace fs = std::filesystem;

struct Data {
  TemporaryFolder folder{};
  SurfaceConfig config{};

  Data() {
    write_challenge(folder / "a", 0, 4);
    config.task.data.train.folder = folder / "a";
    config.task.volume.store = folder / "prepared";
    config.task.volume.patch = {16, 32, 32};
    config.task.data.split = {.validation = 0.25, .test = 0.25};
  }

  VolumeRecords open() const { return app::open_volumes(config, app::surface_classes()); }

  std::string refusal() const {
    try {
      open();
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no error";
  }
};

}  // namespace

TEST_CASE("the challenge's TIFF volumes are taken as they are, and 2 counts nowhere") {
  const Data data;
  const VolumeRecords records = data.open();
  CHECK(records.classes == std::vector<std::string>{"background", "surface"});
  CHECK(records.ignore == 2);
  REQUIRE(records.set.cases.size() == 4);
  CHECK(records.set.cases[0].name == "1000");
  CHECK(records.set.prepared[0].extent == std::array<std::int64_t, 3>{24, 40, 40});
  REQUIRE(records.members.size() == 1);
  CHECK(records.members[0].train.size() == 2);
  CHECK(records.members[0].validation.size() == 1);
  CHECK(records.members[0].test.size() == 1);
}

TEST_CASE("validation and test may be data sets of their own, of another layout too") {
  Data data;
  write_challenge(data.folder / "b", 4, 6);
  const fs::path raw = data.folder / "c";
  for (const char* part : {"imagesTr", "labelsTr"})
    fs::create_directories(raw / part);
  std::ofstream(raw / "dataset.json")
      << R"({"channel_names": {"0": "CT"}, "labels": {"background": 0, "sheet": 1, "ignore": 2},
             "numTraining": 1, "file_ending": ".nii.gz"})";
  write_sheet_case(raw / "imagesTr/one_0000.nii.gz", raw / "labelsTr/one.nii.gz", 7);
  data.config.task.data.validation.folder = data.folder / "b";
  data.config.task.data.test.folder = raw;
  data.config.task.data.split = {};
  const VolumeRecords records = data.open();
  REQUIRE(records.set.cases.size() == 7);
  CHECK(records.members[0].train == std::vector<std::int64_t>{0, 1, 2, 3});
  CHECK(records.members[0].validation == std::vector<std::int64_t>{4, 5});
  CHECK(records.members[0].test == std::vector<std::int64_t>{6});
  CHECK(records.set.cases[4].name == "1004");
  CHECK(records.set.cases[6].name == "one");
}

TEST_CASE("folds leave alone a test of its own") {
  Data data;
  write_challenge(data.folder / "b", 4, 5);
  data.config.task.data.test.folder = data.folder / "b";
  data.config.task.data.split = {.folds = 2};
  const VolumeRecords records = data.open();
  REQUIRE(records.members.size() == 2);
  for (const app::SplitParts& member : records.members)
    CHECK(member.test == std::vector<std::int64_t>{4});
}

TEST_CASE("what is wrong with the folders is said, and nothing is prepared") {
  Data data;
  SUBCASE("an image without a label") {
    fs::remove(data.folder / "a/train_labels/1002.tif");
    CHECK(contains(data.refusal(), "1002.tif: an image must have a label of its name"));
  }
  SUBCASE("no volumes") {
    fs::remove_all(data.folder / "a/train_images");
    fs::create_directories(data.folder / "a/train_images");
    CHECK(contains(data.refusal(), "must hold volumes"));
  }
  SUBCASE("two files of one case") {
    fs::copy(data.folder / "a/train_images/1002.tif", data.folder / "a/train_images/1002.tiff");
    CHECK(contains(data.refusal(), "each case must have one file"));
  }
  SUBCASE("neither layout") {
    data.config.task.data.train.folder = data.folder / "a/train_images";
    CHECK(contains(data.refusal(), "dataset.json"));
  }
  SUBCASE("classes of another job") {
    const fs::path raw = data.folder / "c";
    for (const char* part : {"imagesTr", "labelsTr"})
      fs::create_directories(raw / part);
    std::ofstream(raw / "dataset.json")
        << R"({"channel_names": {"0": "CT"}, "labels": {"background": 0, "a": 1, "b": 2},
               "numTraining": 1, "file_ending": ".nii.gz"})";
    write_sheet_case(raw / "imagesTr/one_0000.nii.gz", raw / "labelsTr/one.nii.gz", 7);
    data.config.task.data.train.folder = raw;
    CHECK(contains(data.refusal(), "labels must be those of background, surface"));
  }
  CHECK(!fs::exists(data.folder / "prepared"));
}

TEST_CASE("folders of images are found for predictions, numbered as nnU-Net's or not") {
  const Data data;
  const auto names = [](const std::vector<NnUNetCase>& cases) {
    std::vector<std::string> all;
    for (const NnUNetCase& one : cases)
      all.push_back(one.name + (one.label.empty() ? "" : "+"));
    return all;
  };
  const fs::path images = data.folder / "a/train_images";
  CHECK(names(app::find_volume_cases(images, {})) ==
        std::vector<std::string>{"1000+", "1001+", "1002+", "1003+"});
  CHECK(names(app::find_volume_cases(data.folder / "a", {.judged = true})).size() == 4);
  fs::create_directories(data.folder / "bare");
  fs::copy(images / "1000.tif", data.folder / "bare/x.y.tif");
  CHECK(names(app::find_volume_cases(data.folder / "bare", {})) == std::vector<std::string>{"x.y"});
  CHECK_THROWS_AS(app::find_volume_cases(images, {.channels = 2}), ConfigError);
}
