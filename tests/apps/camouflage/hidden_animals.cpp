#include <headrace/tests/apps/camouflage/hidden_animals.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/loaders/image_files.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

namespace headrace::test {
namespace {

constexpr std::array kinds{"1-Aquatic-1-Pike", "1-Aquatic-2-Crab", "2-Terrestrial-3-Hare"};

Bytes png(const Pixels& pixels, int side, int channels) {
  return encode_png({.width = side,
                     .height = side,
                     .colour = channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY},
                    pixels, static_cast<std::size_t>(channels * side));
}

Pixels noise(int side, int number) {
  Pixels pixels = picture(side, side, 3, static_cast<unsigned>(number + 1));
  std::ranges::transform(pixels, pixels.begin(),
                         [](auto value) { return static_cast<std::uint8_t>(60 + value / 4); });
  return pixels;
}

void write_pair(const std::filesystem::path& folder, const std::string& name, const Bytes& picture,
                const Bytes& mask) {
  write_bytes(folder / "Imgs" / (name + ".png"), picture);
  write_bytes(folder / "GT_Object" / (name + ".png"), mask);
}

}  // namespace

void write_animals(const std::filesystem::path& folder, int count, int side) {
  for (int i = 0; i < count; ++i) {
    Pixels pixels = noise(side, i);
    Pixels mask(static_cast<std::size_t>(side) * static_cast<std::size_t>(side), 0);
    const int length = side / 4 + i % 3 * side / 8;
    const int left = i * 13 % (side - length);
    const int top = i * 29 % (side - length);
    for (int y = top; y < top + length; ++y) {
      for (int x = left; x < left + length; ++x) {
        const auto at = static_cast<std::size_t>(y * side + x);
        mask[at] = 255;
        for (std::size_t channel = 0; channel < 3; ++channel)
          pixels[3 * at + channel] = static_cast<std::uint8_t>(pixels[3 * at + channel] + 90);
      }
    }
    const std::string kind = kinds[static_cast<std::size_t>(i) % kinds.size()];
    write_pair(folder, "COD10K-CAM-" + kind + "-" + std::to_string(i), png(pixels, side, 3),
               png(mask, side, 1));
  }
}

void write_plain_picture(const std::filesystem::path& folder, int number, int side) {
  write_pair(
      folder, "COD10K-NonCAM-5-Background-1-Hill-" + std::to_string(number),
      png(noise(side, number), side, 3),
      png(Pixels(static_cast<std::size_t>(side) * static_cast<std::size_t>(side), 0), side, 1));
}

}  // namespace headrace::test
