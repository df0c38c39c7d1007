#include <headrace/apps/feed/hdf5_text.h>
#include <headrace/loaders/hdf5/hdf5_thread.h>

#include <H5Cpp.h>

namespace headrace::inline v1::app {
namespace {

constexpr hsize_t largest_text = 1U << 20;

}  // namespace

std::optional<std::string> read_hdf5_text(const std::filesystem::path& path, const char* name) {
  std::optional<std::string> text;
  Hdf5Thread::shared()->run([&] {
    const H5::H5File file(path.string(), H5F_ACC_RDONLY);
    if (!file.attrExists(name)) return;
    const H5::Attribute attribute = file.openAttribute(name);
    const bool readable =
        attribute.getTypeClass() == H5T_STRING && attribute.getInMemDataSize() <= largest_text;
    if (readable) attribute.read(attribute.getStrType(), text.emplace());
  });
  return text;
}

bool has_hdf5_object(const std::filesystem::path& path, const char* name) {
  bool there = false;
  Hdf5Thread::shared()->run([&] {
    const H5::H5File file(path.string(), H5F_ACC_RDONLY);
    there = file.nameExists(name);
  });
  return there;
}

}  // namespace headrace::inline v1::app
