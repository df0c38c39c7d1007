#include <headrace/benchmarks/peers/images/packed.h>
#include <headrace/loaders/image/image_folder.h>
#include <headrace/loaders/image/pack/image_pack.h>
#include <headrace/loaders/image/pack/pack_images.h>

namespace headrace::inline v1::bench {

std::shared_ptr<const Source> packed_images(const std::filesystem::path& folder,
                                            const std::filesystem::path& cache, bool crop_indexed) {
  const auto file =
      cache / (folder.filename().string() + (crop_indexed ? "-crop-indexed.pack" : ".pack"));
  if (!std::filesystem::exists(file)) {
    PackOptions options;
    options.file = file;
    options.crop_index = crop_indexed;
    pack_images(ImageFolder(folder), options);
  }
  return std::make_shared<const ImagePack>(file);
}

}  // namespace headrace::inline v1::bench
