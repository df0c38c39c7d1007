#include <headrace/apps/figures/gallery.h>
#include <headrace/apps/plot/class_colours.h>
#include <headrace/apps/plot/look.h>

#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr std::uint8_t ignored_label = 255;
constexpr double veil = 0.6;  // share of a class's colour over the picture
constexpr int gallery_width = 1200;
constexpr double gallery_edge = 20.0;

// Pixels of classes in their colours over the picture; those that count nowhere in grey.
Pixels under_mask(const Pixels& picture, const std::vector<std::uint8_t>& mask) {
  Pixels shown = picture;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] == 0) continue;
    const Colour colour = mask[i] == ignored_label ? look::axis : class_colour(mask[i]);
    const std::uint8_t parts[] = {colour.red, colour.green, colour.blue};
    for (std::size_t c = 0; c < 3; ++c) {
      std::uint8_t& value = shown.rgb[3 * i + c];
      value = static_cast<std::uint8_t>(std::lround((1.0 - veil) * value + veil * parts[c]));
    }
  }
  return shown;
}

// The end of a name says more than its folders.
std::string short_name(const std::string& file) {
  constexpr std::size_t most = 28;
  if (file.size() <= most) return file;
  const std::size_t slash = file.rfind('/');
  return slash == std::string::npos ? file : file.substr(slash + 1);
}

PictureCell cell_of(const JudgedPicture& one) {
  const Colour verdict = one.badness > 0.0 ? look::orange : look::blue;
  PictureCell cell{.pictures = {one.picture}, .lines = {{short_name(one.file), look::faint}}};
  if (one.true_mask.empty()) {
    cell.lines.emplace_back("true: " + one.truth, look::ink);
    cell.lines.emplace_back("said: " + one.predicted, verdict);
    return cell;
  }
  cell.pictures.push_back(under_mask(one.picture, one.true_mask));
  cell.pictures.push_back(under_mask(one.picture, one.predicted_mask));
  cell.lines.emplace_back(one.predicted, look::ink);
  return cell;
}

bool has_masks(const std::vector<JudgedPicture>& pictures) {
  return !pictures.empty() && !pictures.front().true_mask.empty();
}

PictureGrid grid_of(const std::vector<JudgedPicture>& pictures, const Gallery& gallery,
                    std::string title) {
  PictureGrid grid{.title = std::move(title), .columns = 8};
  for (const JudgedPicture& one : pictures)
    grid.cells.push_back(cell_of(one));
  if (!has_masks(pictures)) return grid;
  grid.title += ": picture, true mask, predicted mask";
  for (std::size_t label = 1; label < gallery.classes.size() && label < ignored_label; ++label)
    grid.legend.emplace_back(gallery.classes[label],
                             class_colour(static_cast<std::uint8_t>(label)));
  return grid;
}

std::vector<std::byte> png_of(const PictureGrid& grid) {
  const double room = gallery_width - 2.0 * gallery_edge;
  Canvas canvas(gallery_width,
                static_cast<int>(std::ceil(height_of(grid, room) + 2.0 * gallery_edge)));
  draw(canvas, {.left = gallery_edge, .top = gallery_edge, .width = room}, grid);
  return canvas.png();
}

}  // namespace

PictureGrid strip_of(const Gallery& gallery) {
  PictureGrid grid = grid_of(gallery.some, gallery, "some of the test");
  if (has_masks(gallery.some)) grid.columns = 4;
  return grid;
}

std::vector<std::byte> some_png(const Gallery& gallery) {
  return png_of(strip_of(gallery));
}

std::vector<std::byte> worst_png(const Gallery& gallery) {
  const std::string title = gallery.worst.empty()
                                ? fmt::format("no mistake in {} records", gallery.records)
                                : fmt::format("worst of {} records", gallery.records);
  PictureGrid grid = grid_of(gallery.worst, gallery, title);
  grid.columns = has_masks(gallery.worst) ? 3 : 6;
  return png_of(grid);
}

}  // namespace headrace::inline v1::app
