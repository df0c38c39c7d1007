#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/sample/source.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// One folder per class, sound files at any depth below it: wav, flac, ogg, oga, opus, in any case;
/// names that begin with a dot are left out. Classes are sorted by name (bytes) and numbered from
/// 0; so are the files of a class. Fields: "audio", the file's bytes (ragged uint8), and "label"
/// (int64). Listed once, when constructed; the paths stay in memory.
class HEADRACE_API AudioFolder final : public Source {
 public:
  /// Throws ConfigError where there is no such folder, no class, a class without sounds, a link, or
  /// a file of more than `largest_file` bytes; DataError and ResourceError where the disk or the
  /// process is to blame.
  explicit AudioFolder(const std::filesystem::path& root,
                       std::uint64_t largest_file = 256ULL << 20);

  /// Class names, by label.
  const std::vector<std::string>& classes() const noexcept { return classes_; }

  std::string name() const override;
  std::int64_t size() const override { return static_cast<std::int64_t>(files_.size()); }
  Schema fields() const override;
  /// Throws DataError naming the file when it cannot be read or is not as long as when it was
  /// listed.
  void read(std::int64_t index, Sample& sample) const override;
  bool read_now(std::int64_t index, Sample& sample) const override;
  bool blocking() const override { return true; }
  std::size_t working_bytes(std::int64_t index) const override;
  std::size_t largest_working_bytes() const override { return largest_; }
  std::size_t resident_bytes() const override;
  /// Path below the root.
  std::string origin(std::int64_t index) const override;

 private:
  struct File {
    std::string path;  ///< below the root
    std::uint64_t bytes = 0;
    std::int64_t label = 0;
  };
  void list_class(const std::string& name, std::uint64_t largest_file);
  void list_below(const std::string& folder, std::uint64_t largest_file);

  std::string root_;  ///< canonical
  std::vector<std::string> classes_;
  std::vector<File> files_;
  std::uint64_t largest_ = 0;
};

}  // namespace headrace::inline v1
