// Files with the same bytes: on one side of a random division, told where they are on two.
#include <headrace/apps/inspect/row_copies.h>
#include <headrace/apps/jobs/jobs.h>
#include <headrace/apps/new/propose_configuration.h>
#include <headrace/apps/run/data_log.h>
#include <headrace/apps/task/records.h>
#include <headrace/apps/task/volume_copies.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/npy/npy_table.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/loaders/npy_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using test::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

void write(const fs::path& file, const std::string& bytes) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << bytes;
}

/// Two classes of 30 pictures each, of which 0 and 1, 2 and 3 and so on are the same.
void write_pairs(const fs::path& folder, const char* ending = ".png") {
  for (const char* name : {"cat", "dog"})
    for (int i = 0; i < 30; ++i)
      write(folder / name / (std::to_string(100 + i) + ending), name + std::to_string(i / 2 + 10));
}

app::TaskData data_of(const fs::path& folder) {
  app::TaskData data;
  data.train.folder = folder;
  data.listings.clear();
  return data;
}

/// What a source has to say while it is opened.
struct Said {
  std::string warnings{};
  std::string notes{};

  app::TaskRecords open(const app::TaskData& data, bool masks = false) {
    const app::DataLogGuard guard([this](LogLevel level, std::string_view line) {
      (level == LogLevel::warning ? warnings : notes) += std::string(line) + '\n';
    });
    return app::open_records(data, masks, 3);
  }
};

bool contains(const std::string& text, const std::string& part) {
  CAPTURE(text);
  CHECK(text.find(part) != std::string::npos);
  return text.find(part) != std::string::npos;
}

/// Pairs of neighbours that are on two sides of a member.
int divided_pairs(const app::SplitParts& member) {
  std::vector<int> side(60, -1);
  int number = 0;
  for (const auto* part : {&member.train, &member.validation, &member.test}) {
    for (const std::int64_t row : *part)
      side[static_cast<std::size_t>(row)] = number;
    ++number;
  }
  int divided = 0;
  for (std::size_t i = 0; i < side.size(); i += 2)
    divided += side[i] == side[i + 1] ? 0 : 1;
  return divided;
}

}  // namespace

TEST_CASE("a random division keeps copies on one side") {
  const TemporaryFolder root;
  write_pairs(root.path());
  Said said;
  app::TaskData data = data_of(root.path());
  const app::TaskRecords records = said.open(data);
  CHECK(divided_pairs(records.members.front()) == 0);
  CHECK(records.members.front().test.size() == 8);
  CHECK(said.warnings.empty());
  contains(said.notes, "30 records are copies of others: cat/101.png is cat/100.png");
  data.split.folds = 3;
  for (const app::SplitParts& member : said.open(data).members)
    CHECK(divided_pairs(member) == 0);
}

TEST_CASE("copies in two parts that are given are told by count and example") {
  const TemporaryFolder root;
  for (const char* part : {"train", "test"})
    for (const char* name : {"cat", "dog"})
      for (int i = 0; i < 4; ++i)
        write(root.path() / part / name / (std::to_string(i) + ".png"),
              part + std::string(name) + std::to_string(i));
  write(root / "test/cat/copy.png", "traincat1");
  fs::create_hard_link(root / "train/dog/2.png", root / "test/dog/link.png");
  Said said;
  app::TaskData data = data_of(root / "train");
  data.test.folder = root / "test";
  said.open(data);
  contains(said.warnings,
           "2 records are copies of others on another side: cat/copy.png (test) is cat/1.png "
           "(training)");
  data.duplicates.rule = app::Duplicates::allow;
  Said nothing;
  nothing.open(data);
  CHECK(nothing.warnings.empty());
  data.duplicates.rule = app::Duplicates::error;
  CHECK_THROWS_WITH_AS(
      nothing.open(data),
      "[data] 2 records are copies of others on another side: cat/copy.png (test) "
      "is cat/1.png (training); list each record once, or set data.duplicates: group",
      DataError);
}

TEST_CASE("a search that was not made is said, and refused where there may be no copies") {
  const TemporaryFolder root;  // of more files than those that a forecast is made from
  for (const char* name : {"cat", "dog"})
    for (int i = 100; i < 700; ++i)
      write(root / name / (std::to_string(i) + ".png"), name + std::to_string(i));
  app::TaskData data = data_of(root.path());
  data.duplicates.within = 1e-9;
  Said said;
  said.open(data);
  contains(said.warnings, "copies were not looked for: 1200 records of a size that others have");
  data.duplicates.rule = app::Duplicates::error;
  CHECK_THROWS_WITH_AS(said.open(data), doctest::Contains("set data.duplicates_within to that"),
                       DataError);
}

TEST_CASE("copies with different labels, or in two splits of a list, are told") {
  const TemporaryFolder root;
  for (int i = 0; i < 6; ++i)
    write(root / (std::to_string(i) + ".png"), "picture " + std::to_string(i / 2 * 2));
  write(root / "list.csv",
        "image,label,split\n0.png,cat,train\n1.png,dog,train\n2.png,cat,train\n3.png,cat,test\n"
        "4.png,dog,val\n5.png,dog,val\n");
  Said said;
  app::TaskData data = data_of({});
  data.train = {.source = app::RecordsIn::manifest, .file = root / "list.csv"};
  said.open(data);
  contains(said.warnings,
           "1 record is a copy of another on another side: 3.png (test) is 2.png (training)");
  contains(said.warnings,
           "1 record is a copy of another with another label: 0.png is cat, 1.png is dog");
  contains(said.notes, "2 records are copies of others: 1.png is 0.png");
}

TEST_CASE("masks are labels, and lists of arrays are lists of files") {
  const TemporaryFolder root;
  for (int i = 0; i < 8; ++i) {
    write(root / ("images/" + std::to_string(i) + ".png"), i < 2 ? "same" : std::to_string(i));
    write(root / ("masks/" + std::to_string(i) + ".png"), std::to_string(i));
  }
  app::TaskData data = data_of(root / "images");
  data.train.source = app::RecordsIn::pairs;
  data.train.masks = root / "masks";
  Said said;
  said.open(data, true);
  contains(said.warnings, "1 record is a copy of another with another label: 0.png is mask ");

  for (const char* name : {"a", "b"})
    for (int i = 0; i < 10; ++i) {
      const std::vector<float> values{static_cast<float>(name[0]), static_cast<float>(i / 2)};
      test::write_array<float>(root.path() / "arrays" / name / (std::to_string(i) + ".npy"), "2,",
                               values);
    }
  data = data_of(root / "arrays");
  data.train.source = app::RecordsIn::npy;
  contains((said.open(data), said.notes), "10 records are copies of others: a/1.npy is a/0.npy");
}

TEST_CASE("cases of volumes are copies where the files of all channels are") {
  const TemporaryFolder root;
  std::vector<NnUNetCase> cases;
  for (const char* name : {"a", "b", "c"}) {
    write(root.path() / name / "0.nii", "same");
    write(root.path() / name / "1.zarr/chunk/0", name[0] == 'b' ? "othr" : "same");
    write(root.path() / name / "label.nii", name);
    cases.push_back({.name = name,
                     .images = {root.path() / name / "0.nii", root.path() / name / "1.zarr"},
                     .label = root.path() / name / "label.nii"});
  }
  const app::Copies copies({app::copy_list(app::Side::training, root.path(), cases)}, {}, {});
  CHECK(copies.pairs() == std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 2}});
  const auto lines = copies.lines();
  REQUIRE(lines.size() == 2);
  contains(lines[0].second, "1 record is a copy of another with another label: a is label ");
  contains(lines[1].second, "1 record is a copy of another: c is a");
}

TEST_CASE("rows of tables are copies where they are asked for") {
  const TemporaryFolder root;
  const std::vector<float> values{1, 2, 3, 4, 1, 2, 5, 6};
  const std::vector<std::int64_t> labels{0, 1, 1, 0};
  test::write_array<float>(root / "x.npy", "4, 2", values);
  test::write_array<std::int64_t>(root / "y.npy", "4,", labels);
  const auto table = std::make_shared<const NpyTable>(
      NpyTableOptions{.features = root / "x.npy", .labels = root / "y.npy"});
  const std::vector<app::DataPart> parts{
      {.name = "training", .records = table, .classes = {"no", "yes"}},
      {.name = "test", .records = table, .classes = {"no", "yes"}}};
  const auto one = app::row_copies({parts[0]}, {.threads = 2}).lines();
  REQUIRE(one.size() == 2);
  contains(one[0].second, "1 record is a copy of another with another label: ");
  contains(one[0].second, " is no, ");
  const auto both = app::row_copies(parts, {.threads = 2}).lines();
  REQUIRE(both.size() == 3);
  contains(both[0].second, "4 records are copies of others on another side: ");
  contains(both[2].second, "2 records are copies of others: ");
}

TEST_CASE("a configuration that is proposed says what is in two parts") {
  const TemporaryFolder root;
  test::write_png_pictures(root / "data/train", 20);
  fs::create_directories(root / "data/test");
  fs::copy(root / "data/train", root / "data/test", fs::copy_options::recursive);
  const app::ProposedText made = app::propose_configuration(
      app::jobs(), "classification", {.data = root / "data"}, {.threads = 1});
  contains(made.lines.back(), "copies of others on another side: ");
  contains(made.yaml, "# " + made.lines.back());
}
