#include <headrace/engine/base/random.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/loaders/image_files.h>

#include <fstream>
#include <utility>

namespace headrace::test {
namespace {

// A square picture of `channels` equal values a pixel, in it a square that lies elsewhere for each
// number below 16; no two pictures of three channels are the same.
Bytes square_png(int inside, int around, int number, int side, int channels) {
  const auto has = [&](int y, int x) {
    return y >= side / 6 + number % 8 && y < side / 2 + number % 8 &&
           x >= side / 12 + number % 16 && x < side / 2 + number % 16;
  };
  Pixels pixels;
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x)
      pixels.insert(pixels.end(), static_cast<std::size_t>(channels),
                    static_cast<std::uint8_t>(has(y, x) ? inside : around));
  if (channels == 3) pixels.front() = static_cast<std::uint8_t>(around + number / 16);
  return encode_png({.width = side,
                     .height = side,
                     .colour = channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY},
                    pixels, static_cast<std::size_t>(channels * side));
}

}  // namespace

void write_bytes(const std::filesystem::path& file, std::span<const std::byte> bytes) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

void write_square_mask(const std::filesystem::path& file, int inside) {
  write_bytes(file, square_png(inside, 0, 0, 48, 1));
}

void write_squares(const std::filesystem::path& images, const std::filesystem::path& masks,
                   int count, int inside, int side) {
  for (int i = 0; i < count; ++i) {
    const std::string name = std::to_string(i) + ".png";
    write_bytes(images / name, square_png(220, 30, i, side, 3));
    write_bytes(masks / name, square_png(inside, 0, i, side, 1));
  }
}

void write_png_pictures(const std::filesystem::path& folder, int count) {
  for (int i = 0; i < count; ++i) {
    const int width = 60 + i;
    write_bytes(folder / (i % 2 == 0 ? "a" : "b") / (std::to_string(i) + ".png"),
                encode_png({.width = width, .height = 70, .colour = PNG_COLOR_TYPE_RGB},
                           picture(width, 70, 3, static_cast<unsigned>(i)),
                           static_cast<std::size_t>(3 * width)));
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
