#pragma once

#include <headrace/apps/config/exit_codes.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace headrace::inline v1::app {

/// What `headrace pack volumes` makes of a data set in nnU-Net's raw layout.
struct DataSetPacking {
  std::filesystem::path input{};
  std::filesystem::path output{};  ///< folder of the prepared cases
  /// Names of schemes: one, or one for each channel; empty: zscore.
  std::vector<std::string> normalize{};
  bool crop = true;
  std::array<double, 3> spacing{};  ///< as VolumePreparation's
  std::array<std::int64_t, 3> chunk{64, 64, 64};
  std::size_t memory = 0;
  int threads = 1;
  bool follow_links = false;  ///< out of the data set's folder

  /// An option that only a data set has and that was given; else empty.
  std::string given() const;
};

/// --normalize, --no-crop and --follow-links.
void add_data_set_options(CLI::App& line, DataSetPacking& packing);

/// Prepares the cases to train on (prepare_cases()), showing how far it is; goes on where an
/// earlier run was stopped. Throws ConfigError for another number of schemes than channels and an
/// output in which the data set lies; what prepare_cases() and nnunet_fingerprint() throw.
ExitCode pack_data_set(const DataSetPacking& packing);

}  // namespace headrace::inline v1::app
