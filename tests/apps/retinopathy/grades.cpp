#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/apps/retinopathy/grades.h>
#include <headrace/tests/loaders/image_files.h>

#include <algorithm>
#include <string>

namespace headrace::test {

void write_grades(const std::filesystem::path& folder, int grades, int count) {
  constexpr int side = 40;
  unsigned number = 0;
  for (const char* part : {"train", "val", "test"})
    for (int grade = 0; grade < grades; ++grade)
      for (int i = 0; i < std::max(count - 2 * grade, 4); ++i) {
        Pixels pixels = picture(side, side, 3, ++number);
        for (auto& value : pixels)
          value = static_cast<std::uint8_t>(value / 4 + 180 * grade / grades);
        write_bytes(folder / part / std::to_string(grade) / (std::to_string(i) + ".png"),
                    encode_png({.width = side, .height = side, .colour = PNG_COLOR_TYPE_RGB},
                               pixels, 3UL * side));
      }
}

}  // namespace headrace::test
