#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/base/log.h>
#include <headrace/loaders/file/stage_progress.h>
#include <headrace/loaders/image/image_source.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace headrace::inline v1 {

struct ImagePackOptions {
  bool verify = true;  ///< hold every record that is read against its checksum (CRC-32)
  /// A folder (a fast disk, or /dev/shm) the file is copied to before anything is read; room and
  /// checksum are checked, and the copy vanishes with the pack or the process. Empty: none.
  std::filesystem::path stage{};
  LogCallback log{};         ///< told once of the copy
  StageCallback on_stage{};  ///< told of its progress
};

/// Images in one file that pack_images() has written (format: docs/pack-format.md). Read with
/// pread, one call a file; never mapped. About 64 bytes and the path per record stay in memory.
class HEADRACE_API ImagePack final : public ImageSource {
 public:
  /// Reads and checks the index: DataError for a file that is damaged, cut off, not finished, or
  /// claims what cannot be (records that overlap, lie outside the file, exceed 2 GiB).
  explicit ImagePack(const std::filesystem::path& file, const ImagePackOptions& options = {});
  ~ImagePack() override;

  enum class Content : unsigned char { original, shrunk, crop_indexed };
  struct Record {
    std::string_view name;  ///< path of the original below its root
    Content content = Content::original;
    int width = 0;  ///< as shown
    int height = 0;
  };
  Record record(std::int64_t index) const noexcept;

  bool has_masks() const noexcept override;
  std::uint64_t image_bytes(std::int64_t index) const noexcept override;
  std::uint64_t mask_bytes(std::int64_t index) const noexcept override;
  /// Records that were bad when the pack was written; they are not among size().
  std::int64_t skipped() const noexcept;

  std::string name() const override;
  std::int64_t size() const override;
  Schema fields() const override;
  /// Throws DataError where the file has become shorter or the bytes are not those of the checksum.
  void read(std::int64_t index, Sample& sample) const override;
  bool read_now(std::int64_t index, Sample& sample) const override;
  bool blocking() const override { return true; }
  /// The record and its pixels, at 4 bytes each.
  std::size_t working_bytes(std::int64_t index) const override;
  std::size_t largest_working_bytes() const override;
  std::size_t resident_bytes() const override;
  std::string origin(std::int64_t index) const override;

 private:
  const detail::RecordValues& values() const noexcept override;

  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace headrace::inline v1
