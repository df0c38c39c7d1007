#include <headrace/apps/inspect/volume_sheet.h>
#include <headrace/apps/plot/class_colours.h>
#include <headrace/apps/plot/look.h>
#include <headrace/apps/plot/picture_grid.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/loader/loader.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr double edge = 20.0;
constexpr double most_pixels = 12e6;
constexpr double between_cells = 18.0;
constexpr double beside_planes = 8.0 + between_cells;  // between those of a cell, and to the next
constexpr double below_planes = 60.0;                  // lines of text, and to the next row
constexpr double head = 40.0;

const FieldSpec* find_image(const Schema& fields) {
  const auto find = [&](const auto& fits) -> const FieldSpec* {
    for (const FieldSpec& field : fields)
      if (field.shape.rank() == 4 && fits(field.dtype)) return &field;
    return nullptr;
  };
  const FieldSpec* real = find([](DType dtype) { return dtype == DType::float32; });
  return real != nullptr ? real : find([](DType dtype) { return is_integer(dtype); });
}

bool is_label_of(const FieldSpec& field, const Shape& image) {
  return is_integer(field.dtype) && field.shape == Shape{image[1], image[2], image[3]};
}

class VolumeSheet {
 public:
  VolumeSheet(const DataPart& part, const std::vector<std::int64_t>& records,
              const SheetOptions& options)
      : part_(part),
        records_(records),
        options_(options),
        fields_(volume_fields(part.fields).value()),
        side_(largest_side()) {
    grid_.columns = columns();
    grid_.cells.resize(records.size() * static_cast<std::size_t>(columns()));
  }

  void draw_records() {
    for (std::size_t row = 0; row < records_.size(); ++row) {
      Sample sample;
      part_.records->read(records_[row], sample);
      if (part_.make) part_.make(sample);
      const ShownVolume volume = shown(sample[fields_.image], label_of(sample));
      windows_.push_back(grey_window(volume.values));
      put(row, 0, volume, part_.records->origin(records_[row]));
    }
  }

  /// A column for each of the first epochs.
  void draw_fed() {
    Loader loader = part_.fed(records_).build({.prefetch = 1});
    for (int draw = 0; draw < options_.draws; ++draw) {
      std::size_t row = 0;
      for (Batch& batch : loader.epoch(draw)) {
        const Tensor images = batch[fields_.image];
        const Tensor labels = fields_.label.empty() ? Tensor{} : batch[fields_.label];
        for (std::int64_t i = 0; i < batch.size(); ++i, ++row) {
          if (row == records_.size())
            throw ConfigError(fmt::format(
                "[inspect] the pipeline must feed {} rows an epoch, got more", records_.size()));
          put(row, 1 + draw, shown(images.row(i), labels.defined() ? labels.row(i) : Tensor{}),
              fmt::format("draw {}", draw + 1));
        }
      }
    }
  }

  std::vector<std::byte> png() {
    grid_.title = fmt::format("{}{}: before, and {} times after the pipeline; across z, y, x",
                              part_.name.empty() ? "" : part_.name + ", ",
                              fmt::format("channel {}", options_.channel), options_.draws);
    for (std::size_t label = 1;
         label < std::min<std::size_t>(part_.classes.size(), ShownVolume::no_class); ++label)
      grid_.legend.emplace_back(part_.classes[label],
                                class_colour(static_cast<std::uint8_t>(label)));
    if (has_no_class_) grid_.legend.emplace_back("no class", look::axis);
    const double room = columns() * (3.0 * side_ + beside_planes) - between_cells;
    Canvas canvas(static_cast<int>(std::ceil(room + 2.0 * edge)),
                  static_cast<int>(std::ceil(height_of(grid_, room) + 2.0 * edge)));
    draw(canvas, {.left = edge, .top = edge, .width = room}, grid_);
    return canvas.png();
  }

 private:
  int columns() const { return 1 + options_.draws; }

  int largest_side() const {
    const auto pixels = [this](int side) {
      return (columns() * (3.0 * side + beside_planes) + 2.0 * edge) *
             (static_cast<double>(records_.size()) * (side + below_planes) + head + 2.0 * edge);
    };
    int side = options_.cell;
    while (side > 1 && pixels(side) > most_pixels)
      --side;
    return side;
  }

  Tensor label_of(const Sample& sample) const {
    return fields_.label.empty() ? Tensor{} : sample[fields_.label];
  }

  ShownVolume shown(const Tensor& image, const Tensor& label) {
    ShownVolume volume =
        shown_volume({.image = image, .channel = options_.channel}, label, part_.classes.size());
    const auto& labels = volume.labels;
    has_no_class_ = has_no_class_ ||
                    std::find(labels.begin(), labels.end(), ShownVolume::no_class) != labels.end();
    return volume;
  }

  void put(std::size_t row, int column, const ShownVolume& volume, const std::string& name) {
    const Voxel through = crossing(volume);
    PictureCell& cell =
        grid_.cells[row * static_cast<std::size_t>(columns()) + static_cast<std::size_t>(column)];
    for (std::size_t axis = 0; axis < 3; ++axis)
      cell.pictures.push_back(slice(volume, windows_[row], axis, through, side_));
    cell.lines.emplace_back(name, look::ink);
    cell.lines.emplace_back(fmt::format("z {}, y {}, x {}", through[0], through[1], through[2]),
                            look::faint);
  }

  const DataPart& part_;
  const std::vector<std::int64_t>& records_;
  SheetOptions options_;
  VolumeFields fields_;
  int side_;
  PictureGrid grid_;
  std::vector<GreyWindow> windows_;  // of the records
  bool has_no_class_ = false;
};

}  // namespace

std::optional<VolumeFields> volume_fields(const Schema& fields) {
  const FieldSpec* image = find_image(fields);
  if (image == nullptr) return std::nullopt;
  VolumeFields found{.image = image->name};
  for (const FieldSpec& field : fields) {
    if (!is_label_of(field, image->shape)) continue;
    found.label = field.name;
    break;
  }
  return found;
}

void check_channel(const DataPart& part, const SheetOptions& options) {
  const FieldSpec* image = find_image(part.fields);
  if (image == nullptr || options.channel < image->shape[0]) return;
  throw ConfigError(
      fmt::format("[inspect] --channel must be 0 to {} of these volumes, got {}; their field is {}",
                  image->shape[0] - 1, options.channel, to_string(*image)));
}

std::vector<std::byte> volume_sheet(const DataPart& part, const std::vector<std::int64_t>& records,
                                    const SheetOptions& options) {
  check_channel(part, options);
  VolumeSheet sheet(part, records, options);
  sheet.draw_records();
  sheet.draw_fed();
  return sheet.png();
}

}  // namespace headrace::inline v1::app
