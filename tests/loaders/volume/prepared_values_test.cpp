// What cases become, beside numpy's values (volume_preparation.py).
#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/loaders/volume/volume_preparation.h>
#include <headrace/tests/loaders/volume/prepared_volumes.h>
#include <headrace/tests/support/source_folder.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace headrace::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Scheme = VolumeNormalization::Scheme;

std::vector<int> labels_of(const fs::path& file) {
  const auto volume = open_volume(file);
  REQUIRE(volume->info().dtype == DType::uint8);
  std::vector<int> labels;
  for (const std::byte label : whole_volume(*volume))
    labels.push_back(std::to_integer<int>(label));
  return labels;
}

Scheme scheme_of(const std::string& name) {
  const std::map<std::string, Scheme> schemes{
      {"none", Scheme::none},     {"zscore", Scheme::zscore},
      {"ct", Scheme::ct},         {"zscore_nonzero", Scheme::zscore_nonzero},
      {"by_255", Scheme::by_255}, {"zero_to_one", Scheme::zero_to_one}};
  return schemes.at(name);
}

VolumePreparation preparation_of(const Json& recipe, const Json& ct) {
  VolumePreparation preparation{.spacing = recipe.at("spacing").get<std::array<double, 3>>(),
                                .crop = recipe.at("crop"),
                                .channels = {}};
  for (const Json& scheme : recipe.at("schemes"))
    preparation.channels.push_back({.scheme = scheme_of(scheme),
                                    .low = ct.at("low"),
                                    .high = ct.at("high"),
                                    .mean = ct.at("mean"),
                                    .deviation = ct.at("deviation")});
  return preparation;
}

void check_images(const PreparedCase& made, const Json& wanted) {
  const std::vector<double> values = values_of(made.image);
  const double step = open_volume(made.image)->info().scale;
  const auto [low, high] = wanted.at("range").get<std::array<double, 2>>();
  CHECK(step == doctest::Approx((high - low) / 65535).epsilon(1e-6));
  const std::size_t voxels = values.size() / wanted.at("images").size();
  for (std::size_t channel = 0; channel < wanted.at("images").size(); ++channel) {
    std::size_t at = channel * voxels + wanted.at("first").get<std::size_t>();
    for (const double value : wanted.at("images")[channel]) {
      CAPTURE(at);
      REQUIRE(std::abs(values[at] - value) <= step / 2 + 2e-6 * std::max(1.0, std::abs(value)));
      at += wanted.at("step").get<std::size_t>();
    }
  }
}

void check_label(const PreparedCase& made, const Json& wanted) {
  const std::vector<int> labels = labels_of(made.label);
  std::size_t at = wanted.at("first");
  int sure = 0;
  for (const int label : wanted.at("label")) {
    if (label >= 0) {
      ++sure;
      CHECK(labels[at] == label);
    }
    at += wanted.at("step").get<std::size_t>();
  }
  CHECK(sure > 10);
}

}  // namespace

TEST_CASE("crop, normalization and grid of a case are numpy's") {
  const NnUNetRawFiles files;
  std::ifstream stored(fs::path(headrace::test::source_folder()) /
                       "tests/loaders/volume/data/volume_preparation.json");
  const Json all = Json::parse(stored);
  for (const Json& recipe : all.at("recipes")) {
    CAPTURE(recipe.at("name").get<std::string>());
    const TemporaryFolder folder;
    const std::vector<PreparedCase> made =
        prepare_cases(cases_of(files), preparation_of(recipe, all.at("ct")), options_for(folder));
    REQUIRE(made.size() == 4);
    for (const Json& wanted : recipe.at("cases")) {
      const int which = wanted.at("case");
      const PreparedCase& one = made[static_cast<std::size_t>(which)];
      CHECK(one.name == "case" + std::to_string(which));
      CHECK(one.crop_begin == wanted.at("begin").get<std::array<std::int64_t, 3>>());
      CHECK(one.crop_end == wanted.at("end").get<std::array<std::int64_t, 3>>());
      CHECK(one.extent == wanted.at("extent").get<std::array<std::int64_t, 3>>());
      check_images(one, wanted);
      check_label(one, wanted);
    }
  }
}

TEST_CASE("a prepared case says where it lies in its files") {
  const NnUNetRawFiles files;
  const TemporaryFolder folder;
  const auto made = prepare_cases(cases_of(files), {.spacing = {0, 1.5, 0}}, options_for(folder));
  REQUIRE(made.size() == 4);
  const PreparedCase& one = made[1];
  const VolumeInfo from = NnUNetRawFiles::info_of(1, DType::uint8);
  CHECK(one.original_extent == std::array<std::int64_t, 3>{10, 22, 23});
  CHECK(one.original_spacing[0] == doctest::Approx(3.5));
  CHECK(one.original_affine[0] == doctest::Approx(from.affine[0]));
  CHECK(one.spacing[0] == doctest::Approx(3.5));
  CHECK(one.spacing[1] == doctest::Approx(17 * 0.75 / 8));  // 17 rows of the crop become 8
  const VolumeInfo info = open_volume(one.image)->info();
  CHECK(info.shape == VolumeIndex{2, 8, 8, 20});
  CHECK(info.block == VolumeIndex{1, 4, 8, 16});
  CHECK(info.spacing == one.spacing);
  CHECK(open_volume(one.label)->info().affine == info.affine);
  // The crop begins at 1, 3, 2; the first row's outer face stays.
  CHECK(info.affine[3] == doctest::Approx(2 * 0.8));
  CHECK(info.affine[7] == doctest::Approx((3 - 0.5 + 0.5 * 17.0 / 8) * 0.75));
  CHECK(info.affine[11] == doctest::Approx(3.5));
}

TEST_CASE("more channels than one share a scale, and a volume in slices needs little memory") {
  const TemporaryFolder folder;
  VolumeInfo info{.shape = {1, 256, 64, 64}};
  const auto value = [](std::int64_t z, std::int64_t y, std::int64_t x) {
    return 1 + (z * 3 + y * 5 + x * 7) % 1000;
  };
  info.dtype = DType::float32;
  NnUNetRawFiles::write<float>(folder / "a_0000.nii", info, value);
  info.dtype = DType::int16;
  NnUNetRawFiles::write<std::int16_t>(folder / "a_0001.nii", info, value);
  const NnUNetCase one{"a", {folder / "a_0000.nii", folder / "a_0001.nii"}, {}};
  const auto made = prepare_cases(
      {one}, {.channels = {{Scheme::none}, {Scheme::by_255}}},
      {.folder = folder / "out", .chunk = {16, 16, 16}, .memory = 3'500'000});  // of 6.3 MB
  REQUIRE(made.size() == 1);
  CHECK(made[0].label.empty());
  const std::vector<double> values = values_of(made[0].image);
  const double step = open_volume(made[0].image)->info().scale;
  CHECK(step == doctest::Approx((1000.0 - 1.0 / 255) / 65535));
  std::size_t at = 0;
  for (const double divisor : {1.0, 255.0})
    for (std::int64_t z = 0; z < 256; ++z)
      for (std::int64_t y = 0; y < 64; ++y)
        for (std::int64_t x = 0; x < 64; ++x, ++at)
          REQUIRE(std::abs(values[at] - static_cast<double>(value(z, y, x)) / divisor) <=
                  step / 2 + 1e-6);
}

TEST_CASE("channels that whole numbers of one scale would spoil are float32") {
  const TemporaryFolder folder;
  const VolumeInfo info{.shape = {1, 32, 32, 32}, .dtype = DType::float32};
  const auto noise = [](std::int64_t z, std::int64_t y, std::int64_t x) {
    return static_cast<double>(1 + (z * 7919 + y * 104729 + x * 1299709) % 1000) / 1000;
  };
  NnUNetRawFiles::write<float>(folder / "low.nii", info, noise);
  NnUNetRawFiles::write<float>(
      folder / "high.nii", info,
      [&](std::int64_t z, std::int64_t y, std::int64_t x) { return noise(x, z, y) * 200000; });
  NnUNetRawFiles::write<float>(folder / "outlier.nii", info,
                               [&](std::int64_t z, std::int64_t y, std::int64_t x) {
                                 return z == 3 && y == 4 && x == 5 ? 1e9 : noise(z, y, x);
                               });
  const auto prepared = [&](const std::string& name, const std::vector<fs::path>& images) {
    const auto made = prepare_cases({{name, images, {}}}, {.channels = {{Scheme::none}}},
                                    {.folder = folder / "out"});
    const auto volume = open_volume(made.at(0).image);
    CHECK(volume->info().dtype == DType::float32);
    const std::vector<std::byte> bytes = whole_volume(*volume);
    std::vector<float> values(bytes.size() / sizeof(float));
    REQUIRE(volume->info().dtype == DType::float32);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  };
  const std::vector<float> both = prepared("both", {folder / "low.nii", folder / "high.nii"});
  const std::vector<float> one = prepared("one", {folder / "outlier.nii"});
  const std::size_t voxels = one.size();
  REQUIRE(both.size() == 2 * voxels);
  std::size_t at = 0;
  for (std::int64_t z = 0; z < 32; ++z)
    for (std::int64_t y = 0; y < 32; ++y)
      for (std::int64_t x = 0; x < 32; ++x, ++at) {
        REQUIRE(std::abs(both[at] - noise(z, y, x)) < 1e-3);
        REQUIRE(std::abs(both[voxels + at] - noise(x, z, y) * 200000) < 200);
        if (z != 3 || y != 4 || x != 5) REQUIRE(std::abs(one[at] - noise(z, y, x)) < 1e-3);
      }
}

TEST_CASE("a case of one value becomes zeros") {
  const TemporaryFolder folder;
  const VolumeInfo info{.shape = {1, 5, 6, 7}};
  NnUNetRawFiles::write<std::uint8_t>(folder / "a.nii", info,
                                      [](std::int64_t, std::int64_t, std::int64_t) { return 7; });
  const VolumeNormalization one_value_of_ct{Scheme::ct, 7, 7, 7, 0};
  for (const VolumeNormalization& channel :
       {VolumeNormalization{Scheme::zscore}, VolumeNormalization{Scheme::zscore_nonzero},
        VolumeNormalization{Scheme::zero_to_one}, one_value_of_ct}) {
    const auto made = prepare_cases({{"a", {folder / "a.nii"}, {}}}, {.channels = {channel}},
                                    {.folder = folder / "out"});
    for (const double value : values_of(made.at(0).image))
      REQUIRE(std::abs(value) < 1e-9);
  }
}

TEST_CASE("labels of other types and values become bytes, or two of them") {
  const NnUNetRawFiles files;
  const TemporaryFolder folder;
  PrepareOptions options = options_for(folder);
  std::vector<NnUNetCase> one{cases_of(files).front()};
  VolumeInfo info = NnUNetRawFiles::info_of(0, DType::float32);
  const auto value = [](std::int64_t z, std::int64_t y, std::int64_t) {
    return z == 4 && y == 9 ? -1 : z % 2 * 700;
  };
  NnUNetRawFiles::write<float>(files.label(0), info, value);
  CHECK(contains(refusal<DataError>(one, {}, options),
                 "labelsTr/case0.nii.gz: a label must have the values 0, 1, 2, got 700"));
  options.values = {700, 0, -1};
  const auto made = prepare_cases(one, {}, options);
  const auto label = open_volume(made.at(0).label);
  REQUIRE(label->info().dtype == DType::int16);
  CHECK(label->info().shape == VolumeIndex{1, 7, 15, 21});
  const std::vector<std::byte> voxels = whole_volume(*label);
  for (std::int64_t i = 0; i < 7 * 15 * 21; ++i) {
    std::int16_t stored = 0;
    std::memcpy(&stored, voxels.data() + 2 * i, sizeof stored);
    REQUIRE(stored == value(i / (15 * 21) + 1, i / 21 % 15 + 3, 0));
  }
  options.values = {};
  CHECK(contains(refusal<DataError>(one, {}, options), "whole numbers from 0 to 255, got 700"));
}

}  // namespace headrace::test
