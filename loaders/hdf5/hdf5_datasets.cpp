#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/detail/hdf5_file.h>
#include <headrace/loaders/hdf5/hdf5_datasets.h>

namespace headrace::inline v1 {
namespace {

constexpr std::size_t most_datasets = 10'000;

herr_t note(hid_t root, const char* name, const H5L_info_t* link, void* names) {
  if (link->type != H5L_TYPE_HARD) return 0;
  H5O_info_t object{};
  if (H5Oget_info_by_name2(root, name, &object, H5O_INFO_BASIC, H5P_DEFAULT) < 0) return -1;
  auto& list = *static_cast<std::vector<std::string>*>(names);
  if (object.type == H5O_TYPE_DATASET) list.push_back("/" + std::string(name));
  return list.size() >= most_datasets ? 1 : 0;
}

}  // namespace

std::vector<std::string> hdf5_datasets(const std::filesystem::path& path) {
  const detail::Hdf5File file(path);
  std::vector<std::string> names;
  try {
    file.thread().run([&] {
      if (H5Lvisit(file.library().getId(), H5_INDEX_NAME, H5_ITER_INC, &note, &names) < 0)
        throw H5::GroupIException("hdf5_datasets", "the groups cannot be listed");
    });
  } catch (const DataError& error) {
    throw DataError("[hdf5] " + path.string() + ": its groups cannot be listed, " + error.what() +
                    "; copy the file again");
  }
  return names;
}

}  // namespace headrace::inline v1
