#include <headrace/apps/run/make_folder.h>
#include <headrace/engine/base/error.h>

#include <system_error>

#include <fmt/format.h>

namespace headrace::inline v1::app {

void make_folder(std::string_view who, const std::filesystem::path& folder) {
  if (folder.empty()) return;
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (!failed) return;
  throw ConfigError(fmt::format("[{}] the folder {} must be one that can be made, got: {}", who,
                                folder.string(), failed.message()));
}

}  // namespace headrace::inline v1::app
