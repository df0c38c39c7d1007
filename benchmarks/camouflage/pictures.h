#pragma once

#include <headrace/loaders/image/image_pairs.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace headrace::inline v1::bench {

/// A mask of 0 and 1, row by row.
struct ObjectMask {
  int height = 0;
  int width = 0;
  std::vector<std::uint8_t> pixels{};
};

/// A picture, red-green-blue, row by row, and where its object is.
struct MarkedPicture {
  int height = 0;
  int width = 0;
  std::vector<std::uint8_t> rgb{};
  ObjectMask object{};
};

/// Pictures and masks in COD10K's layout, `Imgs` and `GT_Object`.
class MarkedPictures {
 public:
  /// Throws as ImagePairs does.
  explicit MarkedPictures(const std::filesystem::path& folder);

  std::int64_t size() const { return pairs_.size(); }
  /// Its file's name without folder and extension.
  std::string name(std::int64_t index) const;
  /// The mask's stored values above 127 are the object. Throws DataError for a mask without one, or
  /// of another size than the picture.
  MarkedPicture read(std::int64_t index) const;
  /// The mask alone.
  ObjectMask read_mask(std::int64_t index) const;

 private:
  ImagePairs pairs_;
};

/// The sixth part of a name such as COD10K-CAM-2-Terrestrial-23-Cat-1234. Throws DataError for
/// another.
std::string animal_of(const std::string& name);

/// A mask as `headrace predict` writes it: what is not 0 is the object. Throws DataError where the
/// file is missing.
ObjectMask read_prediction(const std::filesystem::path& file);

}  // namespace headrace::inline v1::bench
