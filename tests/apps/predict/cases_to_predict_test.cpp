// What is looked at before a network sees a case.
#include <headrace/apps/predict/cases_to_predict.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/loaders/volume/nnunet_raw_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stop_token>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::app {
namespace {

namespace fs = std::filesystem;

VolumeInfo small() {
  return {.shape = {1, 4, 5, 6}, .dtype = DType::int16, .spacing = {1, 1, 1}};
}

NnUNetCase write_case(const fs::path& folder, const std::string& name, int value) {
  NnUNetCase made{.name = name, .images = {folder / (name + "_0000.nii")}};
  test::NnUNetRawFiles::write<std::int16_t>(
      made.images.front(), small(),
      [&](std::int64_t z, std::int64_t, std::int64_t x) { return z == 3 ? value * (1 + x) : 0; });
  return made;
}

}  // namespace

TEST_CASE("an image of nothing but 0 is set apart, and other faults are not") {
  const test::TemporaryFolder folder;
  const PrepareOptions options{.folder = folder.path() / "prepared", .threads = 2};
  std::vector<NnUNetCase> cases;
  for (const int value : {3, 0, 5, 0})
    cases.push_back(write_case(folder.path(), "case" + std::to_string(cases.size()), value));
  const CasesToPredict made = prepare_to_predict(cases, options, {});
  REQUIRE(made.cases.size() == 2);
  REQUIRE(made.prepared.size() == 2);
  CHECK(made.cases[1].name == "case2");
  CHECK(made.prepared[1].name == "case2");
  REQUIRE(made.empty.size() == 2);
  CHECK(made.empty[1].name == "case3");
  CHECK(prepare_to_predict({cases[1]}, options, {}).prepared.empty());

  // Cut off behind its header.
  fs::resize_file(cases[2].images.front(), 360);
  CHECK_THROWS_WITH_AS(prepare_to_predict(cases, options, {}), doctest::Contains("case2_0000.nii"),
                       DataError);
}

TEST_CASE("a prediction that is asked to stop prepares no more cases") {
  const test::TemporaryFolder folder;
  std::stop_source stop;
  stop.request_stop();
  const CasesToPredict made =
      prepare_to_predict({write_case(folder.path(), "a", 1)},
                         {.folder = folder.path() / "prepared", .stop = stop.get_token()}, {});
  CHECK(made.prepared.empty());
  CHECK(made.cases.size() == 1);
}

TEST_CASE("labels must have their images' shapes") {
  const test::TemporaryFolder folder;
  std::vector<NnUNetCase> cases{write_case(folder.path(), "a", 1),
                                write_case(folder.path(), "b", 1)};
  cases[1].label = folder.path() / "label.nii";
  VolumeInfo info = small();
  const auto write = [&] {
    test::NnUNetRawFiles::write<std::int16_t>(cases[1].label, info,
                                              [](auto, auto, auto) { return 0; });
  };
  write();
  CHECK_NOTHROW(require_shapes_of_labels(cases));
  info.shape[2] = 7;
  write();
  CHECK_THROWS_WITH_AS(require_shapes_of_labels(cases),
                       doctest::Contains("label.nii: a label must have its image's shape, 4x5x6 "
                                         "and one channel, got 4x7x6 and 1"),
                       DataError);
}

TEST_CASE("predictions must lie apart from images and labels, and from what links lead to") {
  const test::TemporaryFolder folder;
  const fs::path root = folder.path();
  for (const char* part : {"imagesTs", "masks", "links", "other"})
    fs::create_directory(root / part);
  std::ofstream(root / "masks/a.nii") << "drawn";
  std::ofstream(root / "other/a_0000.nii") << "scanned";
  fs::create_symlink(root / "masks/a.nii", root / "links/a.nii");
  fs::create_symlink(root / "other/a_0000.nii", root / "imagesTs/a_0000.nii");
  const std::vector<NnUNetCase> cases{
      {.name = "a", .images = {root / "imagesTs/a_0000.nii"}, .label = root / "links/a.nii"}};
  for (const char* part : {"imagesTs", "other", "links", "masks", "labelsTs", "masks/below"}) {
    CAPTURE(part);
    CHECK_THROWS_WITH_AS(require_apart_of_cases(root / part, cases), doctest::Contains("apart"),
                         ConfigError);
  }
  CHECK_NOTHROW(require_apart_of_cases(root / "out", cases));
}

TEST_CASE("a crop of too many voxels for components is refused before anything is predicted") {
  PreparedCase large{.name = "large", .crop_begin = {0, 1, 0}, .crop_end = {2048, 1025, 1024}};
  CHECK_THROWS_WITH_AS(require_predictable({large}, {.largest_only = true}),
                       doctest::Contains("case large"), ConfigError);
  CHECK_THROWS_AS(require_predictable({large}, {.smallest = 2}), ConfigError);
  CHECK_NOTHROW(require_predictable({large}, {.smallest = 1, .closing = 3}));
  large.crop_begin[1] = 2;
  CHECK_NOTHROW(require_predictable({large}, {.largest_only = true}));
}

}  // namespace headrace::app
