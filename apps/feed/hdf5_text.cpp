#include <headrace/apps/feed/hdf5_text.h>
#include <headrace/apps/terminal/text_width.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/hdf5/hdf5_thread.h>

#include <H5Cpp.h>
#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr hsize_t largest_text = 1U << 20;

}  // namespace

std::optional<std::string> read_hdf5_text(const std::filesystem::path& path, const char* name) {
  std::optional<std::string> text;
  hssize_t texts = 1;
  Hdf5Thread::shared()->run([&] {
    const H5::H5File file(path.string(), H5F_ACC_RDONLY);
    if (!file.attrExists(name)) return;
    const H5::Attribute attribute = file.openAttribute(name);
    if (attribute.getTypeClass() != H5T_STRING) return;
    texts = attribute.getSpace().getSimpleExtentNpoints();
    // The library's C++ face has room for one, however many there are.
    if (texts == 1 && attribute.getInMemDataSize() <= largest_text)
      attribute.read(attribute.getStrType(), text.emplace());
  });
  if (texts != 1) {
    throw DataError(
        fmt::format("[hdf5] {}: attribute \"{}\" must be one text, got {}; write it as a scalar",
                    clean_text(path.native()), name, texts));
  }
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
