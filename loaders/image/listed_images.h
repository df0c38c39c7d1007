#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/loaders/image/image_source.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace headrace::inline v1 {

namespace detail {
struct ImageListing;
}

/// Where the listing of a data set is kept between runs.
struct ListingOptions {
  /// A file that holds the listing: read instead of listing anew while it is valid, else written.
  /// Empty: none. It is valid while the folders' times of change (of a manifest: its length, time
  /// of change and checksum) are those of the listing. Files that are overwritten in place keep
  /// their folder's time: the lengths of up to 200,000 are looked at, others when they are read.
  std::filesystem::path cache{};
  LogCallback log{};  ///< told why a cache was not used, and how long listing took
  /// Links are followed out of the folder and to folders, as git-annex and DVC keep data; else such
  /// a link is refused.
  bool follow_links = false;
};

/// Image files by path: what a folder per class, a manifest and a folder of pairs have in common.
/// About 24 bytes and the path per file stay in memory.
class HEADRACE_API ListedImages : public ImageSource {
 public:
  bool has_masks() const noexcept override;
  /// When they were listed.
  std::uint64_t image_bytes(std::int64_t index) const noexcept override;
  std::uint64_t mask_bytes(std::int64_t index) const noexcept override;
  /// Path of the image below its root.
  std::string_view path(std::int64_t index) const noexcept;
  RecordFile file(std::int64_t index) const noexcept override;
  RecordFile mask_file(std::int64_t index) const noexcept override;

  std::string name() const override;
  std::int64_t size() const override;
  Schema fields() const override;
  /// Reads with pread. Throws DataError naming the file when it cannot be read or is not as long as
  /// when it was listed.
  void read(std::int64_t index, Sample& sample) const override;
  bool read_now(std::int64_t index, Sample& sample) const override;
  bool blocking() const override { return true; }
  /// The files and an estimate of their decoded pixels: 4 bytes each, 2.5 pixels a byte of the
  /// file.
  std::size_t working_bytes(std::int64_t index) const override;
  std::size_t largest_working_bytes() const override;
  std::size_t resident_bytes() const override;
  /// Path below the root; control characters as \xHH.
  std::string origin(std::int64_t index) const override;

 protected:
  ListedImages(std::string name, std::shared_ptr<const detail::ImageListing> listing);

 private:
  const detail::RecordValues& values() const noexcept override;

  std::string name_;
  std::shared_ptr<const detail::ImageListing> listing_;
};

}  // namespace headrace::inline v1
