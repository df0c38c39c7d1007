#include <headrace/apps/terminal/progress_bar.h>

#include <algorithm>

namespace headrace::inline v1::app {

std::string progress_bar(double share) {
  constexpr int width = 20;
  const int full = std::clamp(static_cast<int>(share * width + 0.5), 0, width);
  std::string text;
  for (int i = 0; i < width; ++i)
    text += i < full ? "█" : "░";
  return text;
}

}  // namespace headrace::inline v1::app
