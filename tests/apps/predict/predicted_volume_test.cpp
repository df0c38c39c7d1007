// What becomes of a case's scores: labels on the grid of its files, and their Dice.
#include <headrace/apps/figures/dice_table.h>
#include <headrace/apps/predict/predicted_volume.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/loaders/volume/nnunet_raw_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::app {
namespace {

// A case of 6 x 6 x 8 voxels whose crop, 4 x 4 x 6 from (1, 1, 1), was prepared with voxels twice
// as wide along x.
PreparedCase prepared() {
  return {.name = "a",
          .extent = {4, 4, 3},
          .spacing = {1, 1, 2},
          .original_extent = {6, 6, 8},
          .original_spacing = {1, 1, 1},
          .original_affine = {-1, 0, 0, 5, 0, 1, 0, 6, 0, 0, 1, 7},
          .crop_begin = {1, 1, 1},
          .crop_end = {5, 5, 7}};
}

// Scores of three classes, of which `label` has the highest.
template <class Label>
std::vector<float> scores_of(const Label& label) {
  std::vector<float> scores(3 * 4 * 4 * 3, 0.0F);
  for (std::int64_t z = 0; z < 4; ++z)
    for (std::int64_t y = 0; y < 4; ++y)
      for (std::int64_t x = 0; x < 3; ++x)
        scores[static_cast<std::size_t>(((label(z, y, x) * 4 + z) * 4 + y) * 3 + x)] = 1.0F;
  return scores;
}

std::uint8_t at(const PredictedVolume& volume, std::int64_t z, std::int64_t y, std::int64_t x) {
  return static_cast<std::uint8_t>(volume.voxels.at(static_cast<std::size_t>((z * 6 + y) * 8 + x)));
}

VolumeScores seen(const std::vector<float>& scores) {
  return {.values = scores, .classes = 3, .extent = {4, 4, 3}};
}

}  // namespace

TEST_CASE("scores become labels on the grid of the files, 0 outside of the crop") {
  const auto scores = scores_of([](auto, auto, auto x) { return x; });
  const PredictedVolume made = predicted_volume(seen(scores), prepared(), {});
  CHECK(made.info.shape == VolumeIndex{1, 6, 6, 8});
  CHECK(made.info.dtype == DType::uint8);
  CHECK(made.info.spacing == std::array<double, 3>{1, 1, 1});
  CHECK(made.info.affine == prepared().original_affine);
  REQUIRE(made.voxels.size() == 6 * 6 * 8);
  for (std::int64_t z = 0; z < 6; ++z)
    for (std::int64_t y = 0; y < 6; ++y)
      for (std::int64_t x = 0; x < 8; ++x) {
        const bool inside = z >= 1 && z < 5 && y >= 1 && y < 5 && x >= 1 && x < 7;
        CHECK(at(made, z, y, x) == (inside ? (x - 1) / 2 : 0));
      }
}

TEST_CASE("small components go and holes are closed on that grid") {
  // Two of label 1 and far from it one voxel, of the prepared grid, two of the files'.
  const auto label = [](auto z, auto y, auto x) {
    return (z == 0 && y < 2 && x == 0) || (z == 3 && y == 3 && x == 2) ? 1 : 0;
  };
  const auto scores = scores_of(label);
  const auto voxels = [&](const VolumeDecision& decision) {
    const PredictedVolume made = predicted_volume(seen(scores), prepared(), decision);
    return std::count(made.voxels.begin(), made.voxels.end(), std::byte{1});
  };
  CHECK(voxels({}) == 6);
  CHECK(voxels({.smallest = 2}) == 6);
  CHECK(voxels({.smallest = 3}) == 4);
  CHECK(voxels({.largest_only = true}) == 4);

  // A block with a hole of four voxels in it.
  const auto block = scores_of(
      [](auto z, auto y, auto x) { return (z == 1 || z == 2) && y == 1 && x == 1 ? 0 : 2; });
  const PredictedVolume open = predicted_volume(seen(block), prepared(), {});
  CHECK(at(open, 2, 2, 3) == 0);
  const PredictedVolume closed = predicted_volume(seen(block), prepared(), {.closing = 1});
  CHECK(at(closed, 2, 2, 3) == 2);
  CHECK(at(closed, 3, 2, 4) == 2);
  CHECK(at(closed, 0, 2, 3) == 0);
}

TEST_CASE("of 256 classes the last is label 255, beside 256 for what counts nowhere") {
  std::vector<float> scores(256 * 4 * 4 * 3, 0.0F);
  std::fill(scores.end() - 4 * 4 * 3, scores.end(), 1.0F);
  const VolumeScores all{.values = scores, .classes = 256, .extent = {4, 4, 3}};
  const PredictedVolume made = predicted_volume(all, prepared(), {});
  CHECK(made.info.dtype == DType::uint8);
  CHECK(at(made, 0, 0, 0) == 0);
  CHECK(at(made, 1, 1, 1) == 255);

  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "label.nii.gz";
  VolumeInfo info = made.info;
  info.dtype = DType::int16;
  test::NnUNetRawFiles::write<std::int16_t>(
      file, info, [&](auto z, auto y, auto x) { return z == 1 ? 256 : int{at(made, z, y, x)}; });
  const auto overlaps = overlaps_with(made, file, 256, 256);
  CHECK(overlaps[255].hits == 3 * 4 * 6);
  CHECK(overlaps[255].false_alarms + overlaps[255].misses == 0);
  CHECK(overlaps[0].hits == 6 * 6 * 8 - 6 * 8 - 3 * 4 * 6);
}

TEST_CASE("the background alone is label 0 on the grid of an image") {
  const test::TemporaryFolder folder;
  VolumeInfo info{.shape = {1, 6, 6, 8}, .dtype = DType::int16, .spacing = {1, 2, 3}};
  info.affine = {3, 0, 0, 5, 0, 2, 0, 6, 0, 0, 1, 7};
  const std::filesystem::path file = folder.path() / "a_0000.nii.gz";
  test::NnUNetRawFiles::write<std::int16_t>(file, info, [](auto, auto, auto) { return 3; });
  const PredictedVolume made = background(file, 3);
  CHECK(made.info.shape == info.shape);
  CHECK(made.info.dtype == DType::uint8);
  CHECK(made.info.spacing == info.spacing);
  CHECK(made.info.affine == info.affine);
  CHECK(made.voxels == std::vector<std::byte>(6 * 6 * 8));
  CHECK(background(file, 257).voxels.size() == 2 * 6 * 6 * 8);
}

TEST_CASE("predictions have their case's name and an ending that can be written") {
  const auto name = [](const char* file) {
    return prediction_name({.name = "case.1", .images = {std::string("data/") + file}}).string();
  };
  CHECK(name("case.1_0000.nii.gz") == "case.1.nii.gz");
  CHECK(name("case.1_0000.nii") == "case.1.nii");
  CHECK(name("case.1_0000.tif") == "case.1.tif");
  CHECK(name("case.1_0000.h5") == "case.1.h5");
  CHECK(name("case.1_0000.nrrd") == "case.1.nii.gz");
  CHECK(name("case.1_0000") == "case.1.nii.gz");
}

TEST_CASE("Dice is that of the files' voxels, without those that count nowhere") {
  const test::TemporaryFolder folder;
  const auto scores = scores_of([](auto, auto, auto x) { return x; });
  const PredictedVolume made = predicted_volume(seen(scores), prepared(), {});
  const std::filesystem::path file = folder.path() / "label.nii.gz";
  // As predicted but for a slice of label 1 that says 2, and one that counts nowhere.
  const auto truth = [&](std::int64_t z, std::int64_t y, std::int64_t x) {
    if (z == 2 && at(made, z, y, x) == 2) return 9;
    return z == 1 && at(made, z, y, x) == 1 ? 2 : static_cast<int>(at(made, z, y, x));
  };
  VolumeInfo info = made.info;
  info.dtype = DType::float32;
  test::NnUNetRawFiles::write<float>(file, info, truth);
  const auto overlaps = overlaps_with(made, file, 3, 9);
  REQUIRE(overlaps.size() == 3);
  CHECK(overlaps[1].hits == 24);
  CHECK(overlaps[1].false_alarms == 8);
  CHECK(overlaps[1].misses == 0);
  CHECK(overlaps[2].hits == 24);
  CHECK(overlaps[2].false_alarms == 0);
  CHECK(overlaps[2].misses == 8);
  CHECK_THROWS_WITH_AS(
      overlaps_with(made, file, 3, std::nullopt),
      doctest::Contains("label.nii.gz: a label must be a whole number of 0 to 2, got 9"),
      DataError);

  test::NnUNetRawFiles::write<float>(file, info, [](auto, auto, auto) { return 0.5; });
  CHECK_THROWS_WITH_AS(overlaps_with(made, file, 3, {}),
                       doctest::Contains("a whole number of 0 to 2, got 0.5"), DataError);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 12);
  CHECK_THROWS_WITH_AS(overlaps_with(made, file, 3, {}), doctest::Contains("label.nii.gz"),
                       DataError);
  info.shape = {1, 6, 6, 7};
  test::NnUNetRawFiles::write<float>(file, info, [](auto, auto, auto) { return 0; });
  CHECK_THROWS_WITH_AS(overlaps_with(made, file, 3, {}),
                       doctest::Contains("6x6x8 and one channel, got 6x6x7"), DataError);
}

TEST_CASE("a table of Dice has a row for each case and passes over absent classes") {
  DiceTable table({"background", "liver", "a, b"});
  CHECK(table.empty());
  const ClassOverlap half{.hits = 1, .false_alarms = 1, .misses = 1}, all{.hits = 4}, none{};
  table.add("one", {all, half, all});
  table.add("two", {all, all, none});
  CHECK(table.csv() ==
        "case,mean,liver,\"a, b\"\none,0.750000,0.500000,1.000000\ntwo,1.000000,1.000000,\n");
  const std::string text = table.text();
  CHECK(text.find("mean  0.8750  0.7500  1.0000") != std::string::npos);
}

TEST_CASE("one mask is decided by its threshold, smoothed before where the decision says so") {
  // A voxel of .9 alone in nothing, of the prepared grid.
  const auto single = [](auto z, auto y, auto x) { return z == 1 && y == 1 && x == 1; };
  std::vector<float> scores(static_cast<std::size_t>(voxels_of(prepared().extent)));
  std::size_t at = 0;
  const auto [depth, rows, columns] = prepared().extent;
  for (std::int64_t z = 0; z < depth; ++z)
    for (std::int64_t y = 0; y < rows; ++y)
      for (std::int64_t x = 0; x < columns; ++x)
        scores[at++] = single(z, y, x) ? 0.9F : 0.0F;
  const VolumeScores seen{.values = scores, .classes = 1, .extent = prepared().extent};
  const auto voxels = [&](const VolumeDecision& decision) {
    const PredictedVolume made = predicted_volume(seen, prepared(), decision);
    return std::count(made.voxels.begin(), made.voxels.end(), std::byte{1});
  };
  CHECK(voxels({.threshold = 0.5}) > 0);
  CHECK(voxels({.threshold = 0.95}) == 0);
  CHECK(voxels({.smooth = 1.0, .threshold = 0.5}) == 0);
  CHECK(voxels({.smooth = 1.0, .threshold = 0.01}) > voxels({.threshold = 0.01}));
}

TEST_CASE("sizes in voxels of the prepared grid are as much volume in the files'") {
  // Files of half the spacing: eight voxels for one.
  const VolumeDecision decision{.smallest = 600, .closing = 3, .of_prepared = true};
  const VolumeDecision on_files = on_grid(decision, {0.5, 0.5, 0.5});
  CHECK(on_files.smallest == 4800);
  CHECK(on_files.closing == 6);
  CHECK(on_grid(decision, {1.0, 1.0, 1.0}) == decision);
}

}  // namespace headrace::app
