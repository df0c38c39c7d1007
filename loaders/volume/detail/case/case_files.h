#pragma once

#include <headrace/loaders/volume/nnunet_raw.h>
#include <headrace/loaders/volume/volume.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {

/// The open files of a case, of one channel each, of the same shape and spacing. Const and
/// thread-safe; the case must outlive it.
class CaseFiles {
 public:
  /// `who` begins messages. Throws DataError naming case, file and rule; what open_volume() throws.
  CaseFiles(const NnUNetCase& of, std::string who);

  std::size_t channels() const noexcept { return case_.images.size(); }
  bool has_label() const noexcept { return files_.size() > channels(); }
  /// The channels in order; where there is a label it comes last.
  const std::vector<std::shared_ptr<const Volume>>& files() const noexcept { return files_; }
  /// Of the first channel.
  const VolumeInfo& info() const noexcept { return files_.front()->info(); }
  /// Whether all channels and the label have the same affine.
  bool placed_together() const noexcept;

  /// layer_bytes() of all files.
  std::size_t cache_bytes(std::int64_t slices = 1) const;
  /// What reading a slice of each file takes: CaseSlices without its cache.
  std::size_t slice_bytes() const;

  /// Throws DataError that names the case.
  [[noreturn]] void refuse(const std::string& rule) const;
  /// The same of one of files().
  [[noreturn]] void refuse(std::size_t file, const std::string& rule) const;

 private:
  const NnUNetCase& case_;
  std::string who_;
  std::vector<std::shared_ptr<const Volume>> files_;
};

/// Of the blocks of a channel that `slices` slices and the next block lie in, so that slices read
/// in order decode none twice.
std::size_t layer_bytes(const VolumeInfo& info, std::int64_t slices);

/// As numpy.allclose() with its tolerances.
bool same_spacing(const std::array<double, 3>& a, const std::array<double, 3>& b);

}  // namespace headrace::inline v1::detail
