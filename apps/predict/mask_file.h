#pragma once

#include <headrace/apps/task/mask_settings.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// A mask as it is predicted: the class of each pixel, row by row.
struct PredictedMask {
  std::span<const std::uint8_t> classes{};
  int width = 0;
  int height = 0;
};

/// The mask as a PNG file that holds what `format` says of each class: values up to 255 as indices
/// into a palette of distinct colours, larger ones as grey of 16 bits, colours as they are. Throws
/// ConfigError for a class that the format does not have.
std::vector<std::byte> mask_png(const PredictedMask& mask, const MaskFormat& format);

/// The folder that predicted masks are written to: one for each picture, of its name and folder,
/// with the extension .png.
class MaskFolder {
 public:
  /// Throws ConfigError for a file, and for a folder that is not empty unless what is in it may be
  /// overwritten: it might be the masks that somebody drew.
  MaskFolder(std::filesystem::path folder, bool overwrite);

  /// Writes the mask of a picture of that name, whole or not at all. Throws DataError where the
  /// name leads out of the folder, or another picture's mask has the same; ResourceError.
  void write(const std::string& picture, std::span<const std::byte> png);
  /// There is no mask of this picture. Throws likewise.
  void leave_out(const std::string& picture);
  /// Removes what lay there before of those that have none. Throws ResourceError.
  void finish();

  /// Pictures of which it was told.
  std::int64_t count() const { return static_cast<std::int64_t>(written_.size()); }

 private:
  std::filesystem::path file_of(const std::string& picture);

  std::filesystem::path folder_;
  std::set<std::filesystem::path> written_;
  std::vector<std::filesystem::path> left_out_;
};

}  // namespace headrace::inline v1::app
