#pragma once

#include <headrace/engine/base/export.h>

#include <filesystem>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// Which column of a manifest says what. An empty name stands for the default, which need not be
/// there; a name that is given must be. No column may be given twice.
struct ManifestColumns {
  std::string path{};    ///< of the file; default "path", of images "image" before it
  std::string mask{};    ///< path of the image's mask; default "mask"
  std::string label{};   ///< name or number of the class; default "label"
  std::string group{};   ///< name or number; default "group"
  std::string weight{};  ///< number from 0 on; default "weight"
  std::string split{};   ///< train, validation, test (split_named()); default "split"
  /// A column per class with 0 or 1 in each row, in the order of the classes: instead of `label`.
  std::vector<std::string> labels{};
  /// What stands between names in a cell of `label` where a record may have several classes: ";",
  /// say. Empty: a cell is one name.
  std::string label_separator{};
};

/// The names of the columns that a manifest has (.csv, .tsv, .jsonl: those of its first object).
/// Throws ConfigError where it names none.
HEADRACE_API std::vector<std::string> column_names(const std::filesystem::path& manifest);

}  // namespace headrace::inline v1
