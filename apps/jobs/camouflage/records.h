#pragma once

#include <headrace/apps/feed/pictures.h>
#include <headrace/apps/jobs/camouflage/config.h>
#include <headrace/apps/task/records.h>
#include <headrace/loaders/listing/labelled_source.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::app {

/// What the name of a picture says in the data sets of camouflaged object detection.
struct CodName {
  /// False: COD10K-NonCAM-..., a picture without a hidden object, whose mask is empty.
  bool camouflaged = true;
  /// Of COD10K "Aquatic", "Terrestrial", "Flying", "Amphibian", "Other", of its NonCAM pictures
  /// also "Background"; "CAMO" for CAMO's names; "other" for any other.
  std::string super_class{};
  std::string sub_class{};  ///< of COD10K "BatFish", as written; empty: the name says none

  friend bool operator==(const CodName&, const CodName&) = default;
};

/// Reads a file's name, its folder and extension left out: COD10K-CAM-1-Aquatic-1-BatFish-1 (flag,
/// number and name of the super-class, number and name of the sub-class, number of the picture),
/// COD10K-NonCAM-3-Flying-1515 (no sub-class), camourflage_00012. Thread-safe.
CodName cod_name_of(std::string_view path);

/// How masks are read: grey above 127 is the object, everything else is not.
MaskFeed object_mask();

/// The records of the job: those that `pictures` asks for, parts of `data.train` divided by
/// super-class (cod_name_of()), whatever order their names have. Throws what open_records() throws,
/// and DataError where nothing is left.
TaskRecords camouflage_records(const CamouflageConfig& config);

/// Of these rows those that `pictures` asks for. Throws DataError where none is left; `section`
/// says of what.
std::vector<std::int64_t> wanted_pictures(const CamouflageConfig& config,
                                          const LabelledSource& source,
                                          std::vector<std::int64_t> rows, const char* section);

/// Throws DataError for a mask, among 200 of them, that has something in it but no value that is an
/// object: 0 and 1, say, in place of 0 and 255.
void require_objects(const LabelledSource& source);

}  // namespace headrace::inline v1::app
