#pragma once

#include <headrace/loaders/volume/volume_preparation.h>

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

/// What a prepared case depends on: its files, by name, size, time of change and a sample of their
/// bytes (folders: by digests of the names in them, and of what mark_of_files() says), the
/// preparation and the options that change what is written. As JSON in one line; empty where a file
/// cannot be read.
std::string made_from(const NnUNetCase& of, const VolumePreparation& preparation,
                      const PrepareOptions& options);

/// The record's file, which says what the case is and what it was made from.
std::string record_text(const PreparedCase& prepared, const std::string& made_from);

/// The case that lies there, where its record is whole, says the same origin, and its files are
/// there, with the headers that it says; reads no voxel. Never of an empty origin.
std::optional<PreparedCase> read_record(const PreparedFiles& files, const std::string& made_from);

/// How many of the case's files are others than its record there says; 0 where there is none.
std::int64_t changed_files(const PreparedFiles& files, const std::string& made_from);

}  // namespace headrace::inline v1::detail
