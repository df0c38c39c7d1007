#include <headrace/loaders/image/detail/jpeg/crop_index.h>
#include <headrace/loaders/image/detail/jpeg/jpeg_transcode.h>
#include <headrace/loaders/image/exif.h>
#include <headrace/loaders/image/make_crop_index.h>

#include <algorithm>

namespace headrace::inline v1 {

std::vector<std::byte> make_crop_indexed(std::span<const std::byte> jpeg,
                                         const CropIndexOptions& options) {
  std::vector<std::byte> file = detail::to_baseline_jpeg(jpeg);
  const std::vector<std::uint8_t> index =
      detail::CropIndex::make(file, exif_orientation(jpeg), options.segment_pixels);
  const std::size_t before = file.size();
  file.resize(before + index.size());
  std::transform(index.begin(), index.end(), file.begin() + static_cast<std::ptrdiff_t>(before),
                 [](std::uint8_t byte) { return std::byte{byte}; });
  return file;
}

}  // namespace headrace::inline v1
