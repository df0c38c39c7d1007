#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace headrace::inline v1::app {

/// Which record of the file is for what.
struct GlaucomaRows {
  std::vector<std::int64_t> train;
  std::vector<std::int64_t> train_labels;  ///< class of each of `train`
  /// Patient of each of `train`, from 0; empty: nobody knows, and each is one by itself.
  std::vector<std::int64_t> train_patients{};
  std::vector<std::int64_t> test;  ///< the outer split: never used to select anything
};

/// Reads and checks the labels of all records, `patients` where the file has them, and `split` (0
/// training, all else test). A file without a split, as the original was, is split here: of every
/// class a fifth, drawn with `seed`, is for the test, and the counts of a class are within one of
/// that, or with patients as near to it as patients allow, who stay whole. Patients on both sides
/// of the file's own split are told. Throws DataError naming file and record for labels that are
/// none.
GlaucomaRows read_glaucoma_rows(const std::filesystem::path& file, std::uint64_t seed);

/// Stratified parts of `train`, as places in it, of which no patient is in two. Throws ConfigError
/// where patients are too few for so many.
std::vector<std::vector<std::int64_t>> folds_of_patients(const GlaucomaRows& rows, int folds,
                                                         std::uint64_t seed);

}  // namespace headrace::inline v1::app
