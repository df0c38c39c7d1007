#pragma once

#include <headrace/apps/plot/canvas.h>

#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// A few words and numbers in columns; the first column is at the left, the others end at the
/// right of theirs.
struct TextTable {
  std::string title{};
  std::vector<std::string> head{};
  std::vector<std::vector<std::string>> rows{};  ///< a cell for each of `head`
};

/// Draws a table into a box, as many rows as have room.
void draw(Canvas& canvas, const Box& box, const TextTable& table);

}  // namespace headrace::inline v1::app
