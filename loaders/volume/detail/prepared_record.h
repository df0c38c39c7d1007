#pragma once

#include <headrace/loaders/volume/volume_preparation.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace headrace::inline v1::detail {

/// The files that a case is prepared into.
struct PreparedFiles {
  std::string name{};  ///< the case's
  std::filesystem::path image{};
  std::filesystem::path label{};
  std::filesystem::path record{};

  PreparedFiles(const std::filesystem::path& folder, const std::string& of)
      : name(of),
        image(folder / (name + ".image.hrv")),
        label(folder / (name + ".label.hrv")),
        record(folder / (name + ".json")) {}
};

/// What a prepared case depends on: its files, by name, size and time of change, the preparation
/// and the options that change what is written. As JSON in one line.
std::string made_from(const NnUNetCase& of, const VolumePreparation& preparation,
                      const PrepareOptions& options);

/// The record's file, which says what the case is and what it was made from.
std::string record_text(const PreparedCase& prepared, const std::string& made_from);

/// The case that lies there, where its record is whole, says the same origin, and its files are
/// there, of the size that it says; reads no voxel.
std::optional<PreparedCase> read_record(const PreparedFiles& files, const std::string& made_from);

}  // namespace headrace::inline v1::detail
