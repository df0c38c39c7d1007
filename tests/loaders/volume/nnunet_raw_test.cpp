// nnU-Net's raw layout: what is found in it, and what of it is refused.
#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/nnunet_raw.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/volume/nnunet_raw_files.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

namespace fs = std::filesystem;

std::string raw_refusal(const fs::path& folder) {
  try {
    read_nnunet_raw(folder);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "nothing thrown";
}

std::string with(const std::string& key, const std::string& value) {
  std::string text = R"("channel_names": {"0": "CT", "1": "PET"}, "numTraining": 4)";
  if (key != "file_ending") text += R"(, "file_ending": ".nii.gz")";
  if (key != "labels") text += R"(, "labels": {"background": 0, "organ": 1, "tumour": 2})";
  if (key != "-") text += ", \"" + key + "\": " + value;
  return "{" + text + "}";
}

}  // namespace

TEST_CASE("a raw data set of nnU-Net is found with its channels, labels and cases") {
  const NnUNetRawFiles files;
  CHECK(is_nnunet_raw(files.path()));
  CHECK_FALSE(is_nnunet_raw(files.path() / "imagesTr"));
  fs::create_directory(files.path() / "imagesTs");
  std::ofstream(files.path() / "imagesTr" / ".hidden.nii.gz");
  std::ofstream(files.path() / "labelsTr" / "notes.txt");
  const NnUNetRaw raw = read_nnunet_raw(files.path());
  CHECK(raw.channels == std::vector<std::string>{"CT", "PET"});
  REQUIRE(raw.labels.size() == 3);
  CHECK(raw.labels[2].name == "tumour");
  CHECK(raw.labels[2].values == std::vector<std::int64_t>{2});
  CHECK_FALSE(raw.regions());
  CHECK_FALSE(raw.ignore);
  CHECK(raw.values() == std::vector<std::int64_t>{0, 1, 2});
  REQUIRE(raw.cases.size() == 4);
  CHECK(raw.test.empty());
  CHECK(raw.cases[1].name == "case1");
  CHECK(raw.cases[1].images == std::vector<fs::path>{raw.folder / "imagesTr/case1_0000.nii.gz",
                                                     raw.folder / "imagesTr/case1_0001.nii.gz"});
  CHECK(raw.cases[1].label == raw.folder / "labelsTr/case1.nii.gz");
}

TEST_CASE("names that are the beginning of other names have labels of their own") {
  const NnUNetRawFiles files;
  for (const char* name : {"case1-b", "case1 c", "case1+d", "case10", "case1_0000"}) {
    for (int channel = 0; channel < 2; ++channel)
      fs::copy_file(files.image(1, channel),
                    files.path() / "imagesTr" /
                        (std::string(name) + "_000" + std::to_string(channel) + ".nii.gz"));
    fs::copy_file(files.label(1), files.path() / "labelsTr" / (std::string(name) + ".nii.gz"));
  }
  files.write_json(R"({"channel_names": {"0": "CT", "1": "PET"}, "numTraining": 9,
    "labels": {"background": 0, "organ": 1, "tumour": 2}, "file_ending": ".nii.gz"})");
  CHECK(raw_refusal(files.path()) == "nothing thrown");
  for (const NnUNetCase& one : read_nnunet_raw(files.path()).cases) {
    CHECK(one.images[1].filename() == one.name + "_0001.nii.gz");
    CHECK(one.label.filename() == one.name + ".nii.gz");
  }
}

TEST_CASE("a data set of pictures is refused with the way to learn from them") {
  const NnUNetRawFiles files;
  files.write_json(with("file_ending", R"(".png")"));
  CHECK(contains(raw_refusal(files.path()),
                 R"("file_ending" must be that of volumes, got ".png"; pictures are learnt from )"
                 R"(with their masks: name a list (CSV) of the columns image and mask)"));
}

TEST_CASE("cases to predict need no label") {
  const NnUNetRawFiles files;
  fs::create_directory(files.path() / "imagesTs");
  for (int channel = 0; channel < 2; ++channel)
    fs::copy_file(files.image(0, channel),
                  files.path() / "imagesTs" / ("new_000" + std::to_string(channel) + ".nii.gz"));
  const NnUNetRaw raw = read_nnunet_raw(files.path());
  REQUIRE(raw.test.size() == 1);
  CHECK(raw.test[0].name == "new");
  CHECK(raw.test[0].images.size() == 2);
  CHECK(raw.test[0].label.empty());
}

TEST_CASE("regions keep the order of their file, and an ignored value is none of them") {
  const NnUNetRawFiles files;
  files.write_json(R"({"channel_names": {"1": "PET", "0": "CT"}, "numTraining": 4,
    "labels": {"background": 0, "whole": [1, 2], "core": 2, "ignore": 3},
    "regions_class_order": [1, 2], "file_ending": ".nii.gz"})");
  const NnUNetRaw raw = read_nnunet_raw(files.path());
  CHECK(raw.regions());
  CHECK(raw.channels == std::vector<std::string>{"CT", "PET"});
  REQUIRE(raw.labels.size() == 3);
  CHECK(raw.labels[1].name == "whole");
  CHECK(raw.labels[1].values == std::vector<std::int64_t>{1, 2});
  CHECK(raw.ignore == 3);
  CHECK(raw.values() == std::vector<std::int64_t>{0, 1, 2, 3});
  CHECK(raw.regions_class_order == std::vector<std::int64_t>{1, 2});
}

TEST_CASE("dataset.json is refused by key, rule and way out") {
  const NnUNetRawFiles files;
  const auto refused = [&](const std::string& text) {
    files.write_json(text);
    return raw_refusal(files.path());
  };
  CHECK(refused("[1]") ==
        "[nnU-Net raw data] dataset.json: the metadata must be a JSON object, got [1]");
  CHECK(contains(refused("{"), "dataset.json: the metadata must be JSON"));
  CHECK(contains(refused(std::string(100, '[')), "must nest at most 32 deep"));
  CHECK(contains(refused(with("modality", R"({"0": "CT"})")),
                 R"("modality" is of nnU-Net's version 1)"));
  CHECK(contains(refused(with("training", "[]")), R"("training" is of nnU-Net's version 1)"));
  CHECK(contains(refused(with("labels", R"({"0": "background", "1": "organ"})")),
                 R"("labels" must be names with their values)"));
  CHECK(contains(refused(with("dataset", "{}")), R"("dataset", a list of files anywhere)"));
  CHECK(contains(refused(R"({"labels": {"background": 0}})"),
                 R"("channel_names" must be numbers with names ({"0": "CT"}), got nothing)"));
  CHECK(contains(refused(R"({"channel_names": {"0": "CT", "2": "PET"}})"),
                 R"(must name the channels "0" to "1", got nothing for "1")"));
  CHECK(contains(refused(with("labels", R"({"organ": 1})")),
                 R"("labels" must have "background": 0)"));
  CHECK(contains(refused(with("labels", R"({"background": 0, "organ": 2})")),
                 "must be 0, 1, 2 and so on, got none that is 1, but 2"));
  CHECK(contains(
      refused(with("labels", R"({"background": 0, "organ": -1})")),
      R"(whole numbers from 0 to 65535, or for a region a list of such, got -1 for "organ")"));
  CHECK(contains(refused(with("labels", R"({"background": 0, "organ": 1e300})")), "got 1e+300"));
  CHECK(
      contains(refused(with("labels", R"({"background": 0, "organ": []})")), "got an empty list"));
  CHECK(contains(refused(with("labels", R"({"background": 0, "ignore": 1, "organ": 2})")),
                 R"("ignore" must have the highest value of "labels", 2, got 1)"));
  CHECK(contains(refused(with("labels", R"({"background": 0, "whole": [1, 2], "core": 2})")),
                 R"("regions_class_order" must be a list of 2 to 2 whole numbers, got nothing)"));
  CHECK(contains(refused(with("file_ending", R"("nii")")),
                 R"("file_ending" must be how the files' names end (".nii.gz"), got "nii")"));
  CHECK(contains(refused(with("file_ending", R"("./../x")")), "\"file_ending\" must be"));
  fs::remove(files.path() / "dataset.json");
  CHECK(contains(raw_refusal(files.path()), "must have a file dataset.json (nnU-Net, version 2)"));
  CHECK(contains(raw_refusal(files.path() / "none"),
                 "must be a folder with imagesTr, labelsTr and dataset.json"));
}

TEST_CASE("cases are refused by name where files lack or are too many") {
  const NnUNetRawFiles files;
  const auto refused = [&] { return raw_refusal(files.path()); };
  fs::rename(files.label(2), files.path() / "labelsTr/cse2.nii.gz");
  CHECK(refused() ==
        "[nnU-Net raw data] case \"case2\": its images need a label, got none; add "
        "labelsTr/case2.nii.gz, or move the images to imagesTs; did you mean \"cse2\"?");
  fs::copy_file(files.path() / "labelsTr/cse2.nii.gz", files.label(2));
  CHECK(refused() ==
        "[nnU-Net raw data] case \"cse2\": its label needs images, got none; add "
        "imagesTr/cse2_0000.nii.gz, or take the label away");
  fs::remove(files.path() / "labelsTr/cse2.nii.gz");

  fs::rename(files.image(1, 1), files.path() / "spare");
  CHECK(refused() ==
        "[nnU-Net raw data] case \"case1\" in imagesTr: channel 1 (\"PET\") is missing; add "
        "case1_0001.nii.gz, or take the case away");
  fs::rename(files.path() / "spare", files.image(1, 1));
  fs::copy_file(files.image(1, 1), files.image(1, 2));
  CHECK(refused() ==
        "[nnU-Net raw data] case \"case1\" in imagesTr: must have the 2 channels of dataset.json's "
        "\"channel_names\", got channel 2, too; name it there, or take case1_0002.nii.gz away");
  fs::rename(files.image(1, 2), files.path() / "imagesTr/case1_01.nii.gz");
  CHECK(contains(refused(), "imagesTr/case1_01.nii.gz: an image must be named CASE_NNNN.nii.gz"));
  fs::remove(files.path() / "imagesTr/case1_01.nii.gz");

  fs::create_symlink("/etc/hostname", files.path() / "imagesTr/far_0000.nii.gz");
  CHECK(contains(refused(), "far_0000.nii.gz: link leaves the folder"));
  fs::remove(files.path() / "imagesTr/far_0000.nii.gz");
  const test::TemporaryFolder elsewhere;
  fs::rename(files.image(1, 1), elsewhere / "kept.nii.gz");
  fs::create_symlink(elsewhere / "kept.nii.gz", files.image(1, 1));
  CHECK(contains(refused(), "or set follow_links"));
  CHECK(std::ssize(read_nnunet_raw(files.path(), true).cases) == test::NnUNetRawFiles::cases);
  CHECK(std::ssize(list_nnunet_cases(files.path() / "imagesTr", 2, {}, true)) ==
        test::NnUNetRawFiles::cases);
  fs::rename(elsewhere / "kept.nii.gz", files.image(1, 1));  // in the place of the link

  fs::remove(files.label(3));
  for (int channel = 0; channel < 2; ++channel)
    fs::remove(files.image(3, channel));
  CHECK(refused() ==
        "[nnU-Net raw data] dataset.json: \"numTraining\" must be the number of cases in imagesTr, "
        "3, got 4; correct it, or find the cases that lack");
  files.write_json(with("file_ending", R"(".nrrd")"));
  CHECK(contains(refused(),
                 "must hold files of dataset.json's \"file_ending\", \".nrrd\", got \"case2_0001"));
  fs::remove_all(files.path() / "labelsTr");
  CHECK(contains(refused(), "must have a folder labelsTr"));
}

TEST_CASE("images of a folder are listed by case, whatever lies beside them") {
  const TemporaryFolder folder;
  fs::create_directory(folder.path() / "images");
  fs::create_directory(folder.path() / "labels");
  const auto make = [&](const char* name) { std::ofstream(folder.path() / name) << "x"; };
  for (const char* name : {"images/a_0000.nii.gz", "images/a_0001.nii.gz", "images/b_0000.nii.gz",
                           "images/b_0001.nii.gz", "images/a_0000.json", "labels/b.nii.gz"})
    make(name);
  CHECK_THROWS_WITH_AS(list_nnunet_cases(folder.path() / "images", 1),
                       doctest::Contains("must have the 1 channels"), ConfigError);
  const auto cases = list_nnunet_cases(folder.path() / "images", 2, folder.path() / "labels");
  REQUIRE(cases.size() == 2);
  CHECK(cases[0].name == "a");
  CHECK(cases[0].images.size() == 2);
  CHECK(cases[0].label.empty());
  CHECK(cases[1].label.filename() == "b.nii.gz");
  std::filesystem::create_symlink("nowhere", folder.path() / "labels/a.nii.gz");
  const auto linked = list_nnunet_cases(folder.path() / "images", 2, folder.path() / "labels");
  CHECK(linked[0].label.filename() == "a.nii.gz");  // to be refused when it is opened
  make("images/c_0000.nii");
  CHECK_THROWS_WITH_AS(list_nnunet_cases(folder.path() / "images", 2),
                       doctest::Contains("must have one ending"), ConfigError);
  const TemporaryFolder without;
  std::ofstream(without.path() / "a.nii.gz") << "x";
  CHECK_THROWS_WITH_AS(list_nnunet_cases(without.path(), 1),
                       doctest::Contains("rename it to CASE_0000"), ConfigError);
}

}  // namespace headrace::test
