#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace headrace::inline v1::app {

/// Which record of the file is for what.
struct GlaucomaRows {
  std::vector<std::int64_t> train;
  std::vector<std::int64_t> train_labels;  ///< class of each of `train`
  std::vector<std::int64_t> test;          ///< the outer split: never used to select anything
};

/// Reads and checks the labels of all records, and `split` (0 training, all else test). A file
/// without one, as the original was, is split here: of every class a fifth, drawn with `seed`, is
/// for the test, and the counts of a class are within one of that. Throws DataError naming file and
/// record for labels that are none.
GlaucomaRows read_glaucoma_rows(const std::filesystem::path& file, std::uint64_t seed);

}  // namespace headrace::inline v1::app
