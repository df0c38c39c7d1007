#include <headrace/apps/predict/output_folder.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <system_error>

#include <fmt/format.h>

namespace headrace::inline v1::app {

namespace fs = std::filesystem;

void require_output_folder(const fs::path& folder, bool overwrite, const std::string& what,
                           const std::string& of) {
  std::error_code failed;
  const bool there = fs::exists(folder, failed);
  if ((there && !fs::is_directory(folder, failed)) || folder.extension() == ".csv" ||
      folder.extension() == ".jsonl")
    throw ConfigError(fmt::format(
        "[predict] --output must be a folder, since this kind predicts {} for each {}, got {}",
        what, of, folder.string()));
  if (there && !overwrite && !fs::is_empty(folder, failed))
    throw ConfigError(fmt::format(
        "[predict] --output {} must be empty, or no folder yet, since {}s in it would be lost; "
        "name another one, or add --overwrite",
        folder.string(), what.substr(what.find(' ') + 1)));
}

void require_apart(const fs::path& output, const fs::path& data, const std::string& of) {
  std::error_code failed;
  const auto whole = [&](const fs::path& path) {
    const fs::path found = fs::weakly_canonical(fs::absolute(path, failed), failed);
    return found.has_filename() ? found : found.parent_path();
  };
  const bool folder = fs::is_directory(data, failed) || !fs::exists(data, failed);
  const fs::path made = whole(output);
  const fs::path read = folder ? whole(data) : whole(data).parent_path();
  // Below the folder of one file or a list there may be anything.
  const auto [end, below] = std::ranges::mismatch(read, made);
  if (end != read.end() || (!folder && below != made.end())) return;
  throw ConfigError(fmt::format(
      "[predict] --output must be a folder apart from the {}s in {}, got {}; name one beside it",
      of, data.string(), output.string()));
}

}  // namespace headrace::inline v1::app
