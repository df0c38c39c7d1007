#include <headrace/loaders/image/image_folder.h>
#include <headrace/loaders/image/make_crop_index.h>
#include <headrace/loaders/image/pack/detail/pack_format.h>
#include <headrace/loaders/image/pack/pack_images.h>
#include <headrace/tests/fuzz/pack_edits.h>
#include <headrace/tests/loaders/image_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace headrace::test {
namespace {

constexpr std::size_t footer = 48;

PackBytes make_pack() {
  const TemporaryFolder root;
  for (int i = 0; i < 4; ++i) {
    const auto folder = root / ("data/" + std::string(i % 2 == 0 ? "a" : "b"));
    std::filesystem::create_directories(folder);
    const Bytes file = encode_jpeg({.width = 40 + i, .height = 24},
                                   picture(40 + i, 24, 3, static_cast<unsigned>(i)));
    std::ofstream(folder / (std::to_string(i) + ".jpg"), std::ios::binary)
        .write(reinterpret_cast<const char*>(file.data()),
               static_cast<std::streamsize>(file.size()));
  }
  pack_images(ImageFolder(root / "data"),
              {.file = root / "pack", .crop_index = true, .alignment = 8});
  std::ifstream in(root / "pack", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  PackBytes bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

PackBytes make_indexed(const JpegSpec& spec) {
  return make_crop_indexed(encode_jpeg(spec, picture(spec.width, spec.height, spec.components)),
                           {.segment_pixels = 16});
}

PackBytes make_turned() {
  return make_crop_indexed(
      with_orientation(encode_jpeg({.width = 96, .height = 64}, picture(96, 64, 3)), 6),
      {.segment_pixels = 16});
}

template <class T>
void put(PackBytes& file, std::size_t at, T value) {
  if (at + sizeof value <= file.size()) std::memcpy(file.data() + at, &value, sizeof value);
}

}  // namespace

PackBytes pack_seed(std::size_t which) {
  static const PackBytes seeds[pack_seeds] = {
      make_pack(), make_indexed({.width = 96, .height = 64}),
      make_indexed({.width = 61, .height = 43, .h_samp = 1, .v_samp = 1}),
      make_indexed({.width = 50, .height = 34, .components = 1}), make_turned()};
  return seeds[which % pack_seeds];
}

void repair_pack(PackBytes& file) {
  using detail::PackFormat;
  if (file.size() < PackFormat::page) return;
  std::uint64_t records = 0;
  std::memcpy(&records, file.data() + 16, 8);
  if (records <= (file.size() - PackFormat::page) / PackFormat::entry_bytes) {
    for (std::uint64_t i = 0; i < records; ++i) {
      const std::size_t at = PackFormat::page + i * PackFormat::entry_bytes;
      put(file, at + 76, detail::checksum_of(file.data() + at, 76));
    }
    put(file, 80,
        detail::checksum_of(file.data() + PackFormat::page, records * PackFormat::entry_bytes));
  }
  std::uint64_t names[2] = {};
  std::memcpy(names, file.data() + 32, 16);
  if (names[0] <= file.size() && names[1] <= file.size() - names[0])
    put(file, 84, detail::checksum_of(file.data() + names[0], names[1]));
  put(file, PackFormat::page - 4, detail::checksum_of(file.data(), PackFormat::page - 4));
}

void repair_crop_index(PackBytes& file) {
  if (file.size() < footer) return;
  const std::size_t first = file.size() - footer;
  std::uint32_t jpeg = 0;
  std::memcpy(&jpeg, file.data() + first + 16, 4);
  if (jpeg > first) return;
  put(file, first + 36, detail::checksum_of(file.data() + jpeg, first + 36 - jpeg));
}

}  // namespace headrace::test
