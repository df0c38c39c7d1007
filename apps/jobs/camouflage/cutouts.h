#pragma once

#include <headrace/apps/jobs/camouflage/picture_levels.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::app {

/// What camouflaged pictures are made from: files of cut-out animals and of backgrounds.
struct CamouflageSources {
  std::filesystem::path animal_folder{};         ///< of the paths below it
  std::vector<std::filesystem::path> animals{};  ///< PNG, relative, sorted
  std::filesystem::path background_folder{};     ///< likewise
  std::vector<std::filesystem::path> backgrounds{};
  std::vector<std::string> left_out{};  ///< "mammals/hedgehog.png: a drawing"
  std::string digest{};                 ///< of the files
  std::string origin{};                 ///< for the README: packages and licences
};

/// Where the sources lie; an empty folder: Debian's packages tuxpaint-stamps-default and
/// mate-backgrounds, of which drawings and pictures that show an animal are left out. `say` gets a
/// line when a package is fetched. Throws ConfigError for a folder that has no such files,
/// DataError where a package cannot be had.
CamouflageSources find_camouflage_sources(const std::filesystem::path& animals,
                                          const std::filesystem::path& backgrounds,
                                          const std::function<void(std::string_view)>& say);

/// COD10K's super-classes; their numbers begin with 1.
inline constexpr std::array<std::string_view, 5> cod_super_classes{"Aquatic", "Terrestrial",
                                                                   "Flying", "Amphibian", "Other"};

/// An animal, cut out of a photograph.
struct CutOut {
  std::filesystem::path file{};  ///< relative
  std::string name{};            ///< "TigerSumatran": a sub-class
  /// "tiger", the first word of the file's name: cut-outs of one kind stay in one part.
  std::string kind{};
  std::size_t super_class = 0;  ///< index into cod_super_classes, by the folder that it is in
  std::int64_t number = 0;      ///< of the sub-class, from 1
  PictureLevels picture;        ///< without an empty margin
};

/// The animals that are large enough (a longer side of 100 pixels), neither opaque all over nor
/// empty, decoded by `threads` threads; a line in sources.left_out for each that is not. Throws
/// DataError for a file that cannot be read.
std::vector<CutOut> read_cut_outs(CamouflageSources& sources, int threads);

/// A photograph to hide an animal in.
struct Background {
  std::filesystem::path file{};  ///< relative
  PictureLevels picture;         ///< its shorter side at most 8 times `side`
};

/// All backgrounds, decoded. Throws DataError for a file that cannot be read, ConfigError for one
/// that is smaller than `side`.
std::vector<Background> read_backgrounds(const CamouflageSources& sources, int side, int threads);

}  // namespace headrace::inline v1::app
