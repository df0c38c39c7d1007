#pragma once

#include <string>
#include <string_view>

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

}  // namespace headrace::inline v1::app
