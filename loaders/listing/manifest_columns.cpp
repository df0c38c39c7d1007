#include <headrace/loaders/listing/internal/manifest.h>
#include <headrace/loaders/listing/manifest_columns.h>

namespace headrace::inline v1 {

std::vector<std::string> column_names(const std::filesystem::path& manifest) {
  return detail::names_of_columns(manifest);
}

}  // namespace headrace::inline v1
