#include <headrace/engine/base/random.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/loaders/image_files.h>

#include <fstream>
#include <utility>

namespace headrace::test {

void write_png_pictures(const std::filesystem::path& folder, int count) {
  for (int i = 0; i < count; ++i) {
    const int width = 60 + i;
    const auto of_class = folder / (i % 2 == 0 ? "a" : "b");
    std::filesystem::create_directories(of_class);
    const auto bytes = encode_png({.width = width, .height = 70, .colour = PNG_COLOR_TYPE_RGB},
                                  picture(width, 70, 3, static_cast<unsigned>(i)),
                                  static_cast<std::size_t>(3 * width));
    std::ofstream(of_class / (std::to_string(i) + ".png"), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
}

std::string bytes_of(Loader loader) {
  std::string bytes;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (const Batch& batch : loader.epoch(epoch)) {
      for (const std::string& name : batch.names()) {
        const Tensor field = batch[name];
        bytes += name;
        bytes.append(static_cast<const char*>(field.raw()), field.bytes());
      }
    }
  }
  return bytes;
}

std::uint64_t hash_of(Loader loader) {
  return hash_name(bytes_of(std::move(loader)));
}

}  // namespace headrace::test
