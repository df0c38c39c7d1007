#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// A data set that `headrace prepare NAME` makes: a folder with one folder for each part, a
/// README.txt, and recipe.txt, which says what it was made by and what it holds.
struct PreparedFolderOptions {
  std::string name{};                ///< of the command: "retinopathy"
  std::filesystem::path output{};    ///< the folder; it may be missing
  std::vector<std::string> parts{};  ///< "train", "val", "test"
  std::string recipe{};              ///< a line: what decides the files' bytes
};

/// Made beside the folder and renamed at the end, so that nobody takes a half for a data set; kept
/// where the same recipe made it and no file was added, lost or cut; a folder of anybody else is
/// refused. Used by one thread.
class PreparedFolder {
 public:
  explicit PreparedFolder(PreparedFolderOptions options);

  /// Whether the folder is there already, made by the same recipe.
  bool is_done() const;
  /// Makes it, unless it is done: `fill` writes below the folder that it is given, which has the
  /// parts, empty, and gives the text of README.txt. False: it was kept. Throws what `fill` throws;
  /// ConfigError for a folder that holds something else or that another program makes just now;
  /// ResourceError where a disk refuses.
  bool make(const std::function<std::string(const std::filesystem::path&)>& fill) const;

 private:
  std::string record_begins() const;
  std::string record_of(const std::filesystem::path& root) const;
  void require_own(const std::filesystem::path& folder) const;
  void begin() const;
  void finish(const std::string& readme) const;
  void remove(const std::filesystem::path& folder) const;

  PreparedFolderOptions options_;
  std::filesystem::path output_;
  std::filesystem::path work_;
  std::filesystem::path replaced_;
};

/// Writes a file of a prepared folder, not atomically: the folder is. Throws ResourceError.
void write_prepared_file(const std::filesystem::path& file, std::span<const std::byte> bytes);

}  // namespace headrace::inline v1::app
