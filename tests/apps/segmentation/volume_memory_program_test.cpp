// A hundred volumes that are together many times the cache: what the process holds is what was
// forecast.
#include <headrace/engine/base/random.h>
#include <headrace/loaders/volume/volume_writer.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace {

using headrace::test::Finished;
using headrace::test::run_headrace;

constexpr int volumes = 100;
constexpr std::int64_t volume_side = 96;

/// Noise, which no codec makes smaller, with a class in its middle.
void write_volume(const std::filesystem::path& folder, int number) {
  const headrace::VolumeInfo info{.shape = {1, volume_side, volume_side, volume_side},
                                  .dtype = headrace::DType::uint8};
  std::vector<std::uint8_t> image(volume_side * volume_side * volume_side);
  std::vector<std::uint8_t> label(image.size());
  headrace::Random random(headrace::RandomKey{.seed = static_cast<std::uint64_t>(number)});
  for (std::size_t i = 0; i < image.size(); ++i) {
    image[i] = static_cast<std::uint8_t>(1 + random.below(255));
    const auto z = static_cast<std::int64_t>(i) / (volume_side * volume_side);
    label[i] = z >= volume_side / 2 && z < volume_side / 2 + 4 ? 1 : 0;
  }
  const std::string name = "case" + std::to_string(number);
  write_nifti(folder / "imagesTr" / (name + "_0000.nii"), info, std::as_bytes(std::span(image)));
  write_nifti(folder / "labelsTr" / (name + ".nii"), info, std::as_bytes(std::span(label)));
}

}  // namespace

TEST_CASE("a loader of volumes larger than its cache holds no more than was forecast") {
  const headrace::test::TemporaryFolder folder;
  const std::filesystem::path raw = folder.path() / "raw";
  for (const char* part : {"imagesTr", "labelsTr"})
    std::filesystem::create_directories(raw / part);
  std::ofstream(raw / "dataset.json")
      << R"({"channel_names": {"0": "MR"}, "labels": {"background": 0, "plate": 1},
             "numTraining": )"
      << volumes << R"(, "file_ending": ".nii"})";
  for (int number = 0; number < volumes; ++number)
    write_volume(raw, number);
  std::ofstream(folder.path() / "job.yaml")
      << "kind: segmentation\ndata: {train: {source: volumes, folder: raw}}\n"
         "volume: {patch: [32, 48, 48], patches: 4, cache: 48MiB}\n"
         "augment: [{spatial: {rotation: 1, scaling: 1}}, nnunet_intensity]\n";
  const Finished run =
      run_headrace(folder.path(), {"bench", "loader", "job.yaml", "--json", "bench.json"});
  REQUIRE_MESSAGE(run.status == 0, run.err);
  const auto measured =
      nlohmann::json::parse(headrace::test::content_of(folder.path() / "bench.json"));
  const auto forecast = measured.at("process_forecast_bytes").get<double>();
  INFO("held ", measured.at("process_peak_bytes").get<double>(), ", forecast ", forecast);
  CHECK(measured.at("process_peak_bytes").get<double>() <= 1.05 * forecast);
  // Decoded, the volumes would be more than all that was forecast.
  std::uintmax_t stored = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder.path() / "prepared"))
    if (entry.is_regular_file()) stored += entry.file_size();
  CHECK(static_cast<double>(stored) > 3 * 48.0 * (1 << 20));
}
