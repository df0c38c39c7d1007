#include <headrace/apps/plot/look.h>
#include <headrace/apps/plot/text_table.h>

#include <algorithm>
#include <array>

namespace headrace::inline v1::app {
namespace {

constexpr double row_height = 24.0;
constexpr double number_width = 92.0;

void draw_row(Canvas& canvas, const Box& box, double y, const std::vector<std::string>& cells,
              Colour colour) {
  const double numbers = number_width * static_cast<double>(cells.size() - 1);
  canvas.text(cut_to_width(cells.front(), box.width - numbers - 12.0, {}), {box.left, y},
              {.colour = colour});
  for (std::size_t i = 1; i < cells.size(); ++i)
    canvas.text(cells[i],
                {box.right() - number_width * static_cast<double>(cells.size() - 1 - i), y},
                {.colour = colour, .anchor = Anchor::right});
}

}  // namespace

void draw(Canvas& canvas, const Box& box, const TextTable& table) {
  if (table.rows.empty() || box.height < 3.0 * row_height) return;
  canvas.text(table.title, {box.left, box.top + 0.5 * row_height}, look::title);
  draw_row(canvas, box, box.top + 1.6 * row_height, table.head, look::faint);
  const std::array ends{Spot{box.left, box.top + 2.2 * row_height},
                        Spot{box.right(), box.top + 2.2 * row_height}};
  canvas.line(ends, look::axis, 1.0);
  const auto room = static_cast<std::size_t>(box.height / row_height - 2.2);
  for (std::size_t i = 0; i < std::min(room, table.rows.size()); ++i)
    draw_row(canvas, box, box.top + (2.8 + static_cast<double>(i)) * row_height, table.rows[i],
             look::ink);
}

}  // namespace headrace::inline v1::app
