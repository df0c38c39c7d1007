// Records of one group stay on one side, wherever it is that groups are known from.
#include <headrace/apps/task/records.h>
#include <headrace/apps/task/volume_records.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_folder.h>
#include <headrace/loaders/image/pack/pack_images.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/apps/segmentation/ball_volumes.h>
#include <headrace/tests/loaders/npy_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
namespace fs = std::filesystem;

namespace {

const std::string eyes = "<group>_left|<group>_right";

void write_file(const fs::path& file) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << file;  // no file is a copy of another
}

/// Of patient 0 and so on, graded 0 to 2: an eye is often of another grade than its fellow.
std::string eye(int patient, bool left) {
  const int grade = (patient + (left ? 0 : patient % 2)) % 3;
  return std::to_string(grade) + '/' + std::to_string(patient) + (left ? "_left" : "_right");
}

void write_eyes(const fs::path& folder, int patients, const std::string& ending = ".jpeg") {
  for (int patient = 0; patient < patients; ++patient)
    for (const bool left : {true, false})
      write_file(folder / (eye(patient, left) + ending));
}

std::string patient_of(std::string origin) {
  origin.erase(0, origin.rfind('/') + 1);
  return origin.substr(0, origin.find('_'));
}

std::set<std::string> patients_of(const LabelledSource& source,
                                  const std::vector<std::int64_t>& rows) {
  std::set<std::string> patients;
  for (const std::int64_t row : rows)
    patients.insert(patient_of(source.origin(row)));
  return patients;
}

/// Patients with records on several sides, of all members.
std::size_t patients_on_both_sides(const app::TaskRecords& records) {
  const LabelledSource& source = *records.train.source;
  std::size_t both = 0;
  for (const app::SplitParts& member : records.members) {
    std::set<std::string> seen;
    for (const auto* part : {&member.train, &member.validation, &member.test})
      for (const std::string& patient : patients_of(source, *part))
        both += seen.insert(patient).second ? 0 : 1;
  }
  return both;
}

app::TaskData eye_data(const fs::path& folder) {
  app::TaskData data;
  data.train.folder = folder;
  data.listings.clear();
  data.split.group = eyes;
  return data;
}

app::TaskRecords opened(const app::TaskData& data, bool masks = false) {
  check(data);
  return app::open_records(data, masks, 3);
}

std::string group_refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a patient's two eyes lie on one side: folders, folds, nested folds") {
  const test::TemporaryFolder root;
  write_eyes(root.path(), 90);
  app::TaskData data = eye_data(root.path());
  const app::TaskRecords records = opened(data);
  CHECK(patients_on_both_sides(records) == 0);
  CHECK(records.members[0].test.size() >= 22);
  data.split.folds = 4;
  CHECK(patients_on_both_sides(opened(data)) == 0);
  data.split.nested = true;
  CHECK(patients_on_both_sides(opened(data)) == 0);
  data.split = {};
  CHECK(patients_on_both_sides(opened(data)) > 20);
}

TEST_CASE("a pattern over names is of lists, pairs, packs and .npy files, too") {
  const test::TemporaryFolder root;
  std::ofstream list(root / "eyes.csv");
  list << "image,level\n";
  for (int patient = 0; patient < 40; ++patient)
    for (const bool left : {true, false})
      list << patient << (left ? "_left" : "_right") << ".jpeg," << eye(patient, left)[0] << '\n';
  list.close();
  app::TaskData data = eye_data({});
  data.train = {.source = app::RecordsIn::manifest,
                .file = root / "eyes.csv",
                .columns = {.path = "image", .label = "level"}};
  for (int patient = 0; patient < 40; ++patient)
    for (const char* side : {"_left.jpeg", "_right.jpeg"})
      write_file(root / (std::to_string(patient) + side));
  CHECK(patients_on_both_sides(opened(data)) == 0);

  for (int patient = 0; patient < 30; ++patient)
    for (const char* side : {"_left", "_right"}) {
      write_file(root / "images" / (std::to_string(patient) + side + ".jpg"));
      write_file(root / "masks" / (std::to_string(patient) + side + ".png"));
      test::write_array<float>(
          root / "npy" / (patient % 2 == 0 ? "a" : "b") / (std::to_string(patient) + side + ".npy"),
          "2", std::vector<float>{static_cast<float>(patient), static_cast<float>(side[1])});
    }
  data = eye_data(root / "images");
  data.train.source = app::RecordsIn::pairs;
  data.train.masks = root / "masks";
  CHECK(patients_on_both_sides(opened(data, true)) == 0);
  data = eye_data(root / "npy");
  data.train.source = app::RecordsIn::npy;
  CHECK(patients_on_both_sides(opened(data)) == 0);

  test::write_png_pictures(root / "png", 40);
  for (const char* kind : {"a", "b"})
    for (const auto& entry : fs::directory_iterator(root / "png" / kind)) {
      const int number = std::stoi(entry.path().stem().string());
      fs::rename(entry.path(), entry.path().parent_path() /
                                   (std::to_string(number / 4) + "_" + std::to_string(number) +
                                    (number % 4 < 2 ? "_left.png" : "_right.png")));
    }
  pack_images(ImageFolder(root / "png"), {.file = root / "eyes.pack"});
  data = eye_data({});
  data.train = {.source = app::RecordsIn::pack, .file = root / "eyes.pack"};
  data.split.group = "<group>_*";
  CHECK(patients_on_both_sides(opened(data)) == 0);
}

TEST_CASE("a patient's scans are on one side of a division of volumes") {
  const test::TemporaryFolder root;
  for (const char* part : {"imagesTr", "labelsTr"})
    fs::create_directories(root / part);
  std::ofstream(root / "dataset.json")
      << R"({"channel_names": {"0": "MR"}, "labels": {"background": 0, "ball": 1},
             "numTraining": 8, "file_ending": ".nii.gz"})";
  for (int number = 0; number < 8; ++number) {
    test::write_case(root.path(), "Tr", number);
    const std::string now = "case" + std::to_string(number);
    const std::string then =
        "patient" + std::to_string(number / 2) + "_frame" + std::to_string(number % 2);
    fs::rename(root / "imagesTr" / (now + "_0000.nii.gz"),
               root / "imagesTr" / (then + "_0000.nii.gz"));
    fs::rename(root / "labelsTr" / (now + ".nii.gz"), root / "labelsTr" / (then + ".nii.gz"));
  }
  app::VolumeSettings volume;
  volume.store = root / "store";
  app::OpenVolumes what{.folder = root.path(), .split = {.validation = 0.3, .test = 0.2}};
  what.split.group = "patient<group>_frame*";
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    what.seed = seed;
    const app::VolumeRecords records = app::open_volume_records(what, volume);
    std::set<std::string> seen;
    for (const auto* part :
         {&records.members[0].train, &records.members[0].validation, &records.members[0].test}) {
      std::set<std::string> own;
      for (const std::int64_t row : *part)
        own.insert(patient_of(records.set.cases[static_cast<std::size_t>(row)].name));
      CHECK(part->size() == 2 * own.size());
      for (const std::string& patient : own)
        CHECK(seen.insert(patient).second);
    }
  }
  what.split.group = "scan<group>";
  CHECK(has(group_refusal([&] { app::open_volume_records(what, volume); }),
            "8 of 8 do not, \"patient0_frame0\" for one"));
}

TEST_CASE("groups in parts that are given are told, with their number and one of them") {
  const test::TemporaryFolder root;
  write_eyes(root / "train", 30);
  write_eyes(root / "test", 3);
  app::TaskData data = eye_data(root / "train");
  data.test.folder = root / "test";
  CHECK(has(group_refusal([&] { opened(data); }),
            "other groups than data.train, but 3 of its 3 are in both, \"0\" for one"));

  std::ofstream list(root / "list.csv");
  list << "image,label,split\n";
  for (int patient = 0; patient < 30; ++patient)
    for (const bool left : {true, false})
      list << "train/" << eye(patient, left) << ".jpeg," << eye(patient, left)[0] << ','
           << (left || patient < 26 ? "train" : "test") << '\n';
  list.close();
  data = eye_data({});
  data.train = {.source = app::RecordsIn::manifest, .file = root / "list.csv"};
  CHECK(has(group_refusal([&] { opened(data); }), "divides 4 of 30, \"26\" for one"));
  data.split.group.clear();
  CHECK(opened(data).members[0].test.size() == 4);
}

TEST_CASE("a group that cannot be looked up is refused with the way out") {
  const test::TemporaryFolder root;
  write_eyes(root.path(), 12);
  write_file(root / "1/12_middle.jpeg");
  app::TaskData data = eye_data(root.path());
  const std::string unfit = group_refusal([&] { opened(data); });
  CHECK(has(unfit, "but 1 of 25 do not, \"1/12_middle\" for one"));
  CHECK(has(unfit, "\"|<group>\" where each is its own group"));
  data.split.group += "|<group>";
  CHECK(patients_on_both_sides(opened(data)) == 0);

  data.split.group = "patient";
  CHECK(has(group_refusal([&] { check(data); }), "\"<group>_left|<group>_right\""));
  for (const char* wrong : {"<group>*", "*<group>_x", "<group>_<group>", "<group>_left|right",
                            "<group>_left|", "a**<group>"}) {
    data.split.group = wrong;
    CHECK_MESSAGE(has(group_refusal([&] { check(data); }), "data.split.group must have"), wrong);
  }
  data.split.group = eyes;
  data.train = {.source = app::RecordsIn::hdf5, .file = "a.h5"};
  CHECK(has(group_refusal([&] { check(data); }), "name groups by data.train.groups"));
  data.train = {.source = app::RecordsIn::npy, .file = "x.npy", .labels = "y.npy"};
  CHECK(has(group_refusal([&] { check(data); }), "name groups by data.train.groups"));
  data.train = {.source = app::RecordsIn::manifest, .file = "a.csv", .columns = {.group = "id"}};
  CHECK(has(group_refusal([&] { check(data); }), "both say what a group is"));
}
