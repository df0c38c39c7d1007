#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <headrace/engine/export.h>
#include <headrace/engine/source.h>

namespace headrace::inline v1 {

/// One folder per class, image files at any depth below it: jpg, jpeg, png, webp, bmp, tif, tiff,
/// in any case; names that begin with a dot are left out. Classes are sorted by name (bytes) and
/// numbered from 0; so are the files of a class. Fields: "image", the file's bytes (ragged uint8),
/// and "label" (int64). Listed once, when constructed; about 20 bytes and the path per file stay in
/// memory.
class HEADRACE_API ImageFolder final : public Source {
 public:
  /// Throws ConfigError where there is no such folder, no class, a class without images, or a link
  /// that leaves the folder or leads to another folder.
  explicit ImageFolder(const std::filesystem::path& root);

  /// Class names, by label.
  const std::vector<std::string>& classes() const noexcept { return classes_; }
  std::int64_t label(std::int64_t index) const noexcept;
  /// The label of every record: for Balanced orders and stratified folds.
  std::vector<std::int64_t> labels() const;

  std::string name() const override;
  std::int64_t size() const override { return static_cast<std::int64_t>(file_bytes_.size()); }
  Schema fields() const override;
  /// Reads with pread. Throws DataError naming the file when it cannot be read or is not as long as
  /// when it was listed.
  void read(std::int64_t index, Sample& sample) const override;
  bool read_now(std::int64_t index, Sample& sample) const override;
  bool blocking() const override { return true; }
  /// The file and an estimate of its decoded pixels: 4 bytes each, 2.5 pixels a byte of the file.
  std::size_t working_bytes(std::int64_t index) const override;
  std::size_t largest_working_bytes() const override;
  std::size_t resident_bytes() const override;
  /// Path below the root; control characters as \xHH.
  std::string origin(std::int64_t index) const override;

 private:
  struct File;
  void list_class(const std::string& name);
  void list_pictures(const std::string& folder, std::vector<File>& files) const;
  void read_file(std::int64_t index, Sample& sample) const;
  void add(const std::string& path, std::uint64_t bytes);
  std::string_view path(std::int64_t index) const noexcept;
  const char* full_path(std::int64_t index) const;

  std::string root_;  ///< canonical
  std::vector<std::string> classes_;
  std::vector<std::int64_t> class_end_;  ///< per class, one past its last record
  std::string paths_;                    ///< all paths below the root, end to end
  std::vector<std::uint64_t> path_end_;
  std::vector<std::uint64_t> file_bytes_;
  std::uint64_t largest_file_ = 0;
};

}  // namespace headrace::inline v1
