#include <headrace/loaders/hdf5/hdf5_datasets.h>
#include <headrace/loaders/hdf5/internal/library_access.h>

namespace headrace::inline v1 {

std::vector<std::string> hdf5_datasets(const std::filesystem::path& path) {
  return detail::open_hdf5(path, {}, false).library->all_datasets();
}

}  // namespace headrace::inline v1
