// Records that a run has learnt from are known again, wherever they lie.
#include <headrace/apps/predict/evaluation_report.h>
#include <headrace/apps/task/known_records.h>
#include <headrace/apps/task/volume_copies.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_folder.h>
#include <headrace/loaders/npy/npy_table.h>
#include <headrace/tests/loaders/npy_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace headrace;
using app::KnownRecords;
using app::RecordUse;
using test::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

using Numbers = std::vector<std::int64_t>;

void write_pictures(const fs::path& folder, int count) {
  for (const char* name : {"cat", "dog"})
    for (int i = 0; i < count; ++i) {
      fs::create_directories(folder / name);
      std::ofstream(folder / name / (std::to_string(i) + ".png")) << name << i;
    }
}

app::PlacedList pictures(const fs::path& folder, Numbers rows) {
  return app::placed_list(std::make_shared<const ImageFolder>(folder), {.folder = folder},
                          std::move(rows));
}

/// What a member keeps that has learnt from 0 to 3 and was chosen by 4 and 5, written and read.
KnownRecords kept(const app::PlacedList& learnt, const app::PlacedList& chose,
                  const fs::path& file) {
  KnownRecords known;
  known.add(learnt, RecordUse::learnt);
  known.add(chose, RecordUse::chose);
  known.write(file);
  return KnownRecords::read(file).value();
}

}  // namespace

TEST_CASE("pictures are known again below another root, by another name, not with other contents") {
  const TemporaryFolder root;
  write_pictures(root / "data", 5);
  const KnownRecords known =
      kept(pictures(root / "data", {0, 1, 2, 3}), pictures(root / "data", {4, 5}), root / "known");
  const Numbers all{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const auto seen = [&](const fs::path& folder) {
    return app::seen_records({known}, pictures(folder, all));
  };
  app::SeenRecords found = seen(root / "data");
  CHECK(found.learnt == 4);
  CHECK(found.chose == 2);
  CHECK(found.by_name == 0);
  fs::rename(root / "data", root / "moved");
  CHECK(seen(root / "moved").learnt == 4);
  fs::rename(root / "moved/cat/0.png", root / "moved/cat/other name.png");
  CHECK(seen(root / "moved").learnt == 4);
  std::ofstream(root / "moved/cat/1.png") << "CAT1";  // the same path and size
  found = seen(root / "moved");
  CHECK(found.learnt == 3);
  CHECK(found.chose == 2);
}

TEST_CASE("a record whose contents were not sampled is known by path and size, which is said") {
  const TemporaryFolder root;
  write_pictures(root / "data", 5);
  KnownRecords known =
      kept(pictures(root / "data", {0, 1, 2, 3}), pictures(root / "data", {4}), root / "known");
  known.samples[2] = 0;
  const app::SeenRecords found = app::seen_records({known}, pictures(root / "data", {0, 2, 4, 6}));
  CHECK(found.learnt == 2);
  CHECK(found.by_name == 1);
  CHECK(found.chose == 1);
}

TEST_CASE("of several members any may have learnt from a record") {
  const TemporaryFolder root;
  write_pictures(root / "data", 5);
  const KnownRecords a =
      kept(pictures(root / "data", {0, 1}), pictures(root / "data", {2, 3}), root / "a");
  const KnownRecords b =
      kept(pictures(root / "data", {2}), pictures(root / "data", {0, 1}), root / "b");
  const app::SeenRecords found =
      app::seen_records({a, b}, pictures(root / "data", {0, 1, 2, 3, 4}));
  CHECK(found.learnt == 3);
  CHECK(found.chose == 1);
}

TEST_CASE("rows of a table are known by the file and their numbers") {
  const TemporaryFolder root;
  const std::vector<float> values{0, 1, 2, 3, 4, 5};
  const std::vector<std::int64_t> labels{0, 1, 0, 1, 0, 1};
  test::write_array<float>(root / "x.npy", "6, 1", values);
  test::write_array<std::int64_t>(root / "y.npy", "6,", labels);
  const auto rows = [&](const fs::path& file, Numbers numbers) {
    return app::placed_list(std::make_shared<const NpyTable>(NpyTableOptions{
                                .features = file, .labels = root / "y.npy", .in_memory = false}),
                            {.source = app::RecordsIn::npy, .file = file}, std::move(numbers));
  };
  const KnownRecords known =
      kept(rows(root / "x.npy", {0, 2, 4}), rows(root / "x.npy", {5}), root / "known");
  CHECK(app::seen_records({known}, rows(root / "x.npy", {0, 1, 2, 3, 4, 5})).learnt == 3);
  CHECK(app::seen_records({known}, rows(root / "x.npy", {1, 3, 5})).chose == 1);
  fs::copy_file(root / "x.npy", root / "moved.npy");
  CHECK(app::seen_records({known}, rows(root / "moved.npy", {2, 3})).learnt == 1);
  const std::vector<float> others{0, 1, 2, 3, 4, 6};
  test::write_array<float>(root / "other.npy", "6, 1", others);
  CHECK(app::seen_records({known}, rows(root / "other.npy", {0, 2})).learnt == 0);
}

TEST_CASE("volumes are known by the files of all channels") {
  const TemporaryFolder root;
  std::vector<NnUNetCase> cases;
  for (const char* name : {"a", "b"}) {
    const fs::path first = root / (std::string(name) + "_0000.nii");
    const fs::path second = root / (std::string(name) + "_0001.nii");
    std::ofstream(first) << "one channel";
    std::ofstream(second) << name;
    cases.push_back({.name = name, .images = {first, second}});
  }
  KnownRecords known;
  known.add(app::placed_list(cases, {0}), RecordUse::learnt);
  CHECK(app::seen_records({known}, app::placed_list(cases, {0, 1})).learnt == 1);
  CHECK(app::seen_records({known}, app::placed_list(cases, {1})).learnt == 0);
}

TEST_CASE("what a run kept is read whole or refused") {
  const TemporaryFolder root;
  write_pictures(root / "data", 2);
  kept(pictures(root / "data", {0}), pictures(root / "data", {1}), root / "known");
  CHECK_FALSE(KnownRecords::read(root / "none").has_value());
  const auto size = fs::file_size(root / "known");
  fs::resize_file(root / "known", size - 1);
  CHECK_THROWS_AS(KnownRecords::read(root / "known"), DataError);
}

TEST_CASE("an evaluation says what was seen before, and which part was judged") {
  app::EvaluationReport report{.data = "photographs", .split = "all", .samples = 10};
  using nlohmann::json;
  CHECK(json::parse(app::evaluation_json(report)).at("seen").is_null());
  CHECK(app::seen_text(report).empty());
  report.seen = app::SeenRecords{.records = 10, .learnt = 7, .by_name = 1, .chose = 2};
  CHECK(app::seen_text(report) ==
        "[evaluate] of 10 records the run has learnt from 7 (1 known by path and size alone), and "
        "2 chose its weights; their figures say nothing of new records; without --data the run's "
        "own test is judged");
  const json all = json::parse(app::evaluation_json(report));
  CHECK(all.at("split") == "all");
  CHECK(all.at("seen").at("learnt_from") == 7);
  report.data.clear();
  CHECK(json::parse(app::evaluation_json(report)).at("data").is_null());
}
