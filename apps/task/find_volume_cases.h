#pragma once

#include <headrace/loaders/volume/nnunet_raw.h>

#include <cstddef>
#include <filesystem>
#include <vector>

namespace headrace::inline v1::app {

/// Which cases of a folder are looked for.
struct CasesWanted {
  std::size_t channels = 1;
  bool judged = false;             ///< those with labels, not those to predict
  std::filesystem::path labels{};  ///< folder of the labels; empty: what is known
  bool follow_links = false;       ///< out of the folder; false: refused
};

/// Cases to predict or to judge: a folder in nnU-Net's raw layout stands for its imagesTs, or where
/// they are judged for its labelled cases; any other folder for the images `NAME_0000.ENDING`, ...
/// in it, or of one channel, where none is numbered, `NAME.ENDING`, with labels `NAME.ENDING` of
/// `labels`, or of labels_beside() it, where there is such a folder. Opens nothing. Throws
/// ConfigError, DataError.
std::vector<NnUNetCase> find_volume_cases(const std::filesystem::path& data,
                                          const CasesWanted& wanted);

}  // namespace headrace::inline v1::app
