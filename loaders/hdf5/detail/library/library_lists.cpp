#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/hdf5/detail/file/hdf5_file.h>
#include <headrace/loaders/hdf5/detail/library/library_lists.h>

#include <algorithm>

namespace headrace::inline v1::detail {
namespace {

constexpr std::size_t most_datasets = 10'000;
constexpr hsize_t most_members = 1024;

herr_t note(hid_t root, const char* name, const H5L_info_t* link, void* names) {
  if (link->type != H5L_TYPE_HARD) return 0;
  H5O_info_t object{};
  if (H5Oget_info_by_name2(root, name, &object, H5O_INFO_BASIC, H5P_DEFAULT) < 0) return -1;
  auto& list = *static_cast<std::vector<std::string>*>(names);
  if (object.type == H5O_TYPE_DATASET) list.push_back("/" + std::string(name));
  return list.size() >= most_datasets ? 1 : 0;
}

/// What lies under a name: only hard links are looked at, so nothing outside the file is reached.
H5O_type_t kind_of(hid_t in, const std::string& name, hid_t access) {
  H5L_info_t link{};
  H5O_info_t object{};  // the full one would count every chunk of a dataset
  if (H5Lget_info(in, name.c_str(), &link, access) < 0 || link.type != H5L_TYPE_HARD)
    return H5O_TYPE_UNKNOWN;
  return H5Oget_info_by_name2(in, name.c_str(), &object, H5O_INFO_BASIC, access) < 0
             ? H5O_TYPE_UNKNOWN
             : object.type;
}

std::vector<std::string> members_of(const Hdf5File& file, const std::string& path) {
  std::string refused;
  const Hid access(H5Pcreate(H5P_LINK_ACCESS));
  H5Pset_elink_cb(access.get(), &refuse_external, &refused);
  const bool whole = path == "/";
  if (!whole && kind_of(file.library().getId(), path, access.get()) != H5O_TYPE_GROUP)
    return {path};
  std::vector<std::string> names;
  const H5::Group group = file.library().openGroup(path);
  const hsize_t members = std::min(group.getNumObjs(), most_members);
  for (hsize_t i = 0; i < members; ++i) {
    const std::string name = group.getObjnameByIdx(i);
    if (kind_of(group.getId(), name, access.get()) == H5O_TYPE_DATASET)
      names.push_back(whole ? "/" + name : path + "/" + name);
  }
  return names;
}

/// Makes the names, on the HDF5 thread.
template <class Make>
std::vector<std::string> names_of(const Hdf5File& file, Make make) {
  std::vector<std::string> names;
  try {
    file.thread().run([&] { make(names); });
  } catch (const DataError& error) {
    throw DataError("[hdf5] " + printable(file.path().native()) +
                    ": its groups cannot be listed, " + error.what() + "; copy the file again");
  }
  return names;
}

}  // namespace

std::vector<std::string> list_group(const Hdf5File& file, const std::string& path) {
  return names_of(file, [&](std::vector<std::string>& names) { names = members_of(file, path); });
}

std::vector<std::string> list_datasets(const Hdf5File& file) {
  return names_of(file, [&](std::vector<std::string>& names) {
    if (H5Lvisit(file.library().getId(), H5_INDEX_NAME, H5_ITER_INC, &note, &names) < 0)
      throw H5::GroupIException("hdf5_datasets", "the groups cannot be listed");
  });
}

}  // namespace headrace::inline v1::detail
