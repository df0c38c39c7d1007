#pragma once

#include <headrace/loaders/volume/chunk_store_writer.h>
#include <headrace/loaders/volume/derived_volumes.h>
#include <headrace/loaders/volume/detail/case/case_files.h>
#include <headrace/loaders/volume/detail/case/case_volume.h>
#include <headrace/loaders/volume/detail/case/prepared_record.h>
#include <headrace/loaders/volume/volume_preparation.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {

/// A case that is not prepared yet, opened. Case, preparation and options must outlive it. Used by
/// one thread at a time, which starts `threads` of its own.
class UnpreparedCase {
 public:
  /// Throws DataError naming case, file and rule; what open_volume() throws.
  UnpreparedCase(const NnUNetCase& of, const VolumePreparation& preparation,
                 const PrepareOptions& options);

  /// Bytes of decoded voxels without which it cannot be prepared.
  std::size_t least_bytes(int threads) const;
  /// Those with which a pass decodes no block twice.
  std::size_t enough_bytes(int threads) const;

  /// Reads all voxels twice and writes the files, the record last; nothing where it is stopped.
  /// `bytes` are at least least_bytes(); `made_from` is what the record says of its origin.
  std::optional<PreparedCase> prepare(const std::string& made_from, std::size_t bytes, int threads);

 private:
  /// Bytes of the caches of the files' blocks, of the crop's where they are resampled, and of those
  /// that are written.
  struct Caches {
    std::size_t files = 0;
    std::size_t crop = 0;
    std::size_t written = 0;

    std::size_t sum() const noexcept { return files + crop + written; }
  };
  /// What is written of the case, and the crop that it is made of: the same where nothing is
  /// resampled.
  struct Made {
    std::shared_ptr<const Volume> crop{};
    std::shared_ptr<const Volume> written{};
  };

  CropOf crop_of(std::size_t first, std::size_t last, const Caches& caches) const;
  Made image(std::vector<ChannelMap> maps, const Caches& caches) const;
  Made label(const Caches& caches) const;
  Made on_grid(std::shared_ptr<const Volume> crop, GridSampling how, const Caches& caches) const;

  Caches least(int threads) const;
  Caches enough(int threads) const;
  std::size_t working_bytes(int threads) const;
  Caches share(std::size_t bytes, int threads) const;

  void find_crop(const CaseStatistics& statistics);
  std::vector<ChannelFigures> figures(const CaseStatistics& statistics) const;
  bool write(const Volume& volume, ChunkStoreOptions store) const;
  PreparedCase described(const Volume& image) const;

  const NnUNetCase& case_;
  const VolumePreparation& preparation_;
  const PrepareOptions& options_;
  CaseFiles files_;
  PreparedFiles paths_;
  std::array<std::int64_t, 3> begin_{};  // of the crop
  std::array<std::int64_t, 3> end_{};
  Made whole_{};  // as if nothing were cropped; asked, not read
};

}  // namespace headrace::inline v1::detail
