#pragma once

namespace headrace::inline v1::detail {

/// Whether a stored axis runs against the shown one that it becomes, by the EXIF orientation (1-8).
constexpr bool x_runs_back(int orientation) {
  return orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
}
constexpr bool y_runs_back(int orientation) {
  return orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
}

}  // namespace headrace::inline v1::detail
