#pragma once

#include <headrace/apps/plot/canvas.h>

#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {

/// Pictures beside each other, with lines of text below.
struct PictureCell {
  std::vector<Pixels> pictures{};
  std::vector<std::pair<std::string, Colour>> lines{};
};

/// Cells in rows, each with as many pictures.
struct PictureGrid {
  std::string title{};
  std::vector<std::pair<std::string, Colour>> legend{};  ///< what colours in pictures stand for
  std::vector<PictureCell> cells{};
  int columns = 6;
};

/// Draws a grid into a box, from its top to height_of(); pictures are squares.
void draw(Canvas& canvas, const Box& box, const PictureGrid& grid);

/// How high a grid is that is so wide.
double height_of(const PictureGrid& grid, double width);

}  // namespace headrace::inline v1::app
