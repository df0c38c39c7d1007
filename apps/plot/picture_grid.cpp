#include <headrace/apps/plot/look.h>
#include <headrace/apps/plot/picture_grid.h>

#include <algorithm>
#include <cstddef>

namespace headrace::inline v1::app {
namespace {

constexpr double line_height = 19.0;  // of text
constexpr double between_cells = 18.0;
constexpr double between_pictures = 4.0;
constexpr TextStyle words{.height = 9.5};

// How the cells of a grid lie.
struct Layout {
  Layout(const PictureGrid& grid, double width)
      : columns(static_cast<std::size_t>(std::max(1, grid.columns))),
        rows((grid.cells.size() + columns - 1) / columns) {
    for (const PictureCell& one : grid.cells) {
      pictures = std::max(pictures, one.pictures.size());
      lines = std::max(lines, one.lines.size());
    }
    cell =
        (width - between_cells * static_cast<double>(columns - 1)) / static_cast<double>(columns);
    side = (cell - between_pictures * static_cast<double>(pictures - 1)) /
           static_cast<double>(pictures);
    step = side + 4.0 + line_height * static_cast<double>(lines) + between_cells;
  }

  double height() const { return look::title_height + step * static_cast<double>(rows); }

  std::size_t columns;
  std::size_t rows;
  std::size_t pictures = 1;
  std::size_t lines = 0;
  double cell = 0.0;
  double side = 0.0;
  double step = 0.0;
};

// From the right; the title has the room that is left.
void draw_head(Canvas& canvas, const Box& box, const PictureGrid& grid) {
  const double y = box.top + 16.0;
  double x = box.right();
  for (auto entry = grid.legend.rbegin(); entry != grid.legend.rend(); ++entry) {
    const double text = Canvas::text_width(entry->first, {});
    if (x - text < box.left + box.width / 2.0) break;
    canvas.text(entry->first, {x, y}, {.colour = look::ink, .anchor = Anchor::right});
    x -= text + 20.0;
    canvas.rectangle({.left = x, .top = y - 6.5, .width = 13.0, .height = 13.0}, entry->second);
    x -= 16.0;
  }
  canvas.text(cut_to_width(grid.title, x - box.left, look::title), {box.left, y}, look::title);
}

void draw_cell(Canvas& canvas, const Spot& at, const PictureCell& cell, const Layout& layout) {
  for (std::size_t i = 0; i < cell.pictures.size(); ++i)
    canvas.picture(cell.pictures[i],
                   {.left = at.x + static_cast<double>(i) * (layout.side + between_pictures),
                    .top = at.y,
                    .width = layout.side,
                    .height = layout.side});
  double y = at.y + layout.side + 4.0 + line_height / 2.0;
  for (const auto& [text, colour] : cell.lines) {
    TextStyle style = words;
    style.colour = colour;
    canvas.text(cut_to_width(text, layout.cell, style), {at.x, y}, style);
    y += line_height;
  }
}

}  // namespace

void draw(Canvas& canvas, const Box& box, const PictureGrid& grid) {
  const Layout layout(grid, box.width);
  draw_head(canvas, box, grid);
  for (std::size_t i = 0; i < grid.cells.size(); ++i)
    draw_cell(
        canvas,
        {box.left + static_cast<double>(i % layout.columns) * (layout.cell + between_cells),
         box.top + look::title_height + static_cast<double>(i / layout.columns) * layout.step},
        grid.cells[i], layout);
}

double height_of(const PictureGrid& grid, double width) {
  return Layout(grid, width).height();
}

}  // namespace headrace::inline v1::app
