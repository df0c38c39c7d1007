// What nnU-Net plans by, beside what its own extractor finds (nnunet_fingerprint.py).
#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/nnunet_fingerprint.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/volume/nnunet_raw_files.h>
#include <headrace/tests/support/source_folder.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace headrace::test {
namespace {

using doctest::Approx;
using Json = nlohmann::json;

Json stored() {
  std::ifstream file(std::filesystem::path(headrace::test::source_folder()) /
                     "tests/loaders/volume/data/nnunet_fingerprint.json");
  return Json::parse(file);
}

NnUNetFingerprint fingerprint_of(const NnUNetRawFiles& files,
                                 const NnUNetFingerprintOptions& options = {}) {
  return nnunet_fingerprint(read_nnunet_raw(files.path()), options);
}

template <class Error = DataError>
std::string fingerprint_refusal(const NnUNetRawFiles& files,
                                const NnUNetFingerprintOptions& options = {}) {
  try {
    fingerprint_of(files, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing thrown";
}

bool same(const NnUNetForegroundValues& a, const NnUNetForegroundValues& b) {
  return a.mean == b.mean && a.std == b.std && a.median == b.median && a.min == b.min &&
         a.max == b.max && a.percentile_00_5 == b.percentile_00_5 &&
         a.percentile_99_5 == b.percentile_99_5;
}

}  // namespace

TEST_CASE("a fingerprint is what nnU-Net's extractor finds") {
  const NnUNetRawFiles files;
  const Json wanted = stored();
  const NnUNetFingerprint found = fingerprint_of(files);
  CHECK(found.shapes ==
        wanted.at("shapes_after_crop").get<std::vector<std::array<std::int64_t, 3>>>());
  const auto spacings = wanted.at("spacings").get<std::vector<std::array<double, 3>>>();
  REQUIRE(found.spacings.size() == spacings.size());
  for (std::size_t i = 0; i < spacings.size(); ++i)
    for (std::size_t axis = 0; axis < 3; ++axis)
      CHECK(found.spacings[i][axis] == Approx(spacings[i][axis]).epsilon(1e-7));
  CHECK(found.median_relative_size_after_cropping ==
        wanted.at("median_relative_size_after_cropping").get<double>());
  REQUIRE(found.intensity.size() == 2);
  for (std::size_t channel = 0; channel < 2; ++channel) {
    const Json& figures =
        wanted.at("foreground_intensity_properties_per_channel").at(std::to_string(channel));
    const NnUNetForegroundValues& intensity = found.intensity[channel];
    CAPTURE(channel);
    // nnU-Net draws 25 million voxels of each case; here they are all looked at once.
    CHECK(intensity.mean == Approx(figures.at("mean").get<double>()).epsilon(2e-4));
    CHECK(intensity.std == Approx(figures.at("std").get<double>()).epsilon(2e-4));
    CHECK(intensity.median == figures.at("median").get<double>());
    CHECK(intensity.min == figures.at("min").get<double>());
    CHECK(intensity.max == figures.at("max").get<double>());
    CHECK(intensity.percentile_00_5 == figures.at("percentile_00_5").get<double>());
    CHECK(intensity.percentile_99_5 == figures.at("percentile_99_5").get<double>());
  }
  CHECK(found.cases_with_value == std::vector<std::int64_t>{4, 3, 3});
}

TEST_CASE("threads change nothing of a fingerprint, and each case is told") {
  const NnUNetRawFiles files;
  std::vector<std::int64_t> told;
  const NnUNetFingerprint one = fingerprint_of(
      files, {.threads = 1, .most_values = 1, .on_progress = [&](std::int64_t done, std::int64_t) {
                told.push_back(done);
              }});
  const NnUNetFingerprint many = fingerprint_of(files, {.threads = 8, .most_values = 1});
  CHECK(told == std::vector<std::int64_t>{1, 2, 3, 4});
  CHECK(one.shapes == many.shapes);
  for (std::size_t channel = 0; channel < 2; ++channel)
    CHECK(same(one.intensity[channel], many.intensity[channel]));
}

TEST_CASE("percentiles of values that are drawn come near to those of all") {
  const NnUNetRawFiles files;
  NnUNetRawFiles::write<float>(files.image(0, 1), NnUNetRawFiles::info_of(0, DType::float32),
                               [](std::int64_t z, std::int64_t y, std::int64_t x) {
                                 return 1.0F + static_cast<float>((z * 480 + y * 24 + x) % 4001);
                               });
  NnUNetRawFiles::write<std::uint8_t>(files.label(0), NnUNetRawFiles::info_of(0, DType::uint8),
                                      [](std::int64_t, std::int64_t, std::int64_t) { return 1; });
  const NnUNetFingerprint all = fingerprint_of(files);
  const NnUNetFingerprint drawn = fingerprint_of(files, {.most_values = 1});
  CHECK(drawn.intensity[1].mean == all.intensity[1].mean);
  CHECK(drawn.intensity[1].std == all.intensity[1].std);
  CHECK(drawn.intensity[1].max == all.intensity[1].max);
  CHECK(drawn.intensity[1].median == Approx(all.intensity[1].median).epsilon(0.1));
  CHECK(drawn.intensity[1].percentile_99_5 ==
        Approx(all.intensity[1].percentile_99_5).epsilon(0.02));
}

TEST_CASE("an image that is 0 everywhere keeps its size, and one slice its distance") {
  const NnUNetRawFiles files;
  VolumeInfo flat = NnUNetRawFiles::info_of(2, DType::int16);
  flat.shape[1] = 1;
  const auto nothing = [](std::int64_t, std::int64_t, std::int64_t) { return 0; };
  for (int channel = 0; channel < 2; ++channel)
    NnUNetRawFiles::write<std::int16_t>(files.image(2, channel), flat, nothing);
  flat.dtype = DType::uint8;
  NnUNetRawFiles::write<std::uint8_t>(files.label(2), flat, nothing);
  const NnUNetFingerprint found = fingerprint_of(files);
  CHECK(found.shapes[2] == std::array<std::int64_t, 3>{1, 24, 22});
  CHECK(found.spacings[2][0] == Approx(999 * 0.8));
}

TEST_CASE("a label that lies elsewhere than its image is named") {
  const NnUNetRawFiles files;
  CHECK(fingerprint_of(files).displaced.empty());
  VolumeInfo moved = NnUNetRawFiles::info_of(2, DType::uint8);
  moved.affine[3] = 5;
  NnUNetRawFiles::write<std::uint8_t>(files.label(2), moved,
                                      [](std::int64_t, std::int64_t, std::int64_t) { return 1; });
  CHECK(fingerprint_of(files).displaced == std::vector<std::string>{"case2"});
}

TEST_CASE("a channel that lies elsewhere, or is turned, is named, too") {
  const NnUNetRawFiles files;
  const auto value = [](std::int64_t z, std::int64_t, std::int64_t) { return z + 1; };
  VolumeInfo info = NnUNetRawFiles::info_of(0, DType::float32);
  info.affine[7] = 5;
  NnUNetRawFiles::write<float>(files.image(0, 1), info, value);
  info = NnUNetRawFiles::info_of(3, DType::float32);
  info.affine[0] = -info.affine[0];
  NnUNetRawFiles::write<float>(files.image(3, 1), info, value);
  CHECK(fingerprint_of(files).displaced == std::vector<std::string>{"case0", "case3"});
}

TEST_CASE("a case whose files do not fit together is refused by name") {
  const NnUNetRawFiles files;
  const auto zero = [](std::int64_t, std::int64_t, std::int64_t) { return 0; };
  VolumeInfo info = NnUNetRawFiles::info_of(1, DType::uint8);
  info.shape[3] += 1;
  NnUNetRawFiles::write<std::uint8_t>(files.label(1), info, zero);
  std::string message = fingerprint_refusal(files);
  CHECK(message.starts_with("[nnU-Net fingerprint] case \"case1\": "));
  CHECK(contains(message, "10x22x23, got 10x22x24; resample one onto the other"));

  info = NnUNetRawFiles::info_of(1, DType::uint8);
  info.spacing[1] = 0.7;
  info.affine[5] = 0.7;
  NnUNetRawFiles::write<std::uint8_t>(files.label(1), info, zero);
  CHECK(contains(fingerprint_refusal(files),
                 "3.5 x 0.75 x 0.8 mm, got 3.5 x 0.7 x 0.8 mm; correct its"));

  info = NnUNetRawFiles::info_of(1, DType::uint8);
  NnUNetRawFiles::write<std::uint8_t>(files.label(1), info,
                                      [](std::int64_t, std::int64_t, std::int64_t) { return 3; });
  message = fingerprint_refusal(files);
  CHECK(contains(message, "labelsTr/case1.nii.gz: a label must have the values of dataset.json's"));
  NnUNetRawFiles::write<float>(files.label(1), NnUNetRawFiles::info_of(1, DType::float32),
                               [](std::int64_t, std::int64_t, std::int64_t) { return 1.0000001F; });
  CHECK(contains(fingerprint_refusal(files), "0 to 2, got 1.0000001; name it there, or"));
  CHECK(contains(message, "0 to 2, got 3"));
  info.dtype = DType::float32;
  NnUNetRawFiles::write<float>(files.label(1), info,
                               [](std::int64_t, std::int64_t, std::int64_t) { return 0.5F; });
  CHECK(contains(fingerprint_refusal(files), "0 to 2, got 0.5"));
  info.dtype = DType::uint8;
  NnUNetRawFiles::write<std::uint8_t>(files.label(1), info, zero);

  info.dtype = DType::float32;
  NnUNetRawFiles::write<float>(files.image(1, 1), info,
                               [](std::int64_t z, std::int64_t, std::int64_t) {
                                 return z == 5 ? std::numeric_limits<float>::quiet_NaN() : 1.0F;
                               });
  CHECK(contains(fingerprint_refusal(files), "voxels must be numbers, got NaN or infinity"));

  std::vector<float> voxels(static_cast<std::size_t>(2 * voxels_of(info.shape)), 1.0F);
  info.shape[0] = 2;
  write_nifti(files.image(1, 1), info, std::as_bytes(std::span(voxels)));
  CHECK(contains(fingerprint_refusal(files), "a file must hold one channel, got 2"));

  std::ofstream(files.image(1, 1)) << "no volume";
  CHECK_THROWS_AS(fingerprint_of(files), Error);
}

TEST_CASE("a data set without foreground, and a case above the memory, are refused") {
  const NnUNetRawFiles files;
  CHECK(
      contains(fingerprint_refusal<ResourceError>(files, {.memory = 1000}), "memory allows 1000"));
  CHECK(contains(fingerprint_refusal<ConfigError>(files, {.threads = -1}),
                 "threads must not be negative"));
  CHECK(contains(fingerprint_refusal<ConfigError>(files, {.most_values = 0}),
                 "most_values must be at least 1"));
  for (int i = 0; i < NnUNetRawFiles::cases; ++i)
    NnUNetRawFiles::write<std::uint8_t>(files.label(i), NnUNetRawFiles::info_of(i, DType::uint8),
                                        [](std::int64_t, std::int64_t, std::int64_t) { return 0; });
  CHECK(contains(fingerprint_refusal(files),
                 "must have foreground, values above 0, in some case, got none in 4"));
}

}  // namespace headrace::test
