#include <headrace/apps/inspect/contact_sheet.h>
#include <headrace/apps/inspect/volume_sheet.h>
#include <headrace/apps/plot/class_colours.h>
#include <headrace/apps/plot/look.h>
#include <headrace/apps/task/mask_settings.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/loaders/image/png_writer.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr int gap = 4;
constexpr std::uint8_t paper = 32;
constexpr unsigned no_value = 256;

struct Picture {
  const std::uint8_t* rgb;
  int width;
  int height;
};

// Cells in rows and columns on dark paper.
class Sheet {
 public:
  Sheet(int columns, int rows, int cell)
      : cell_(cell),
        width_(columns * (cell + gap) + gap),
        height_(rows * (cell + gap) + gap),
        rgb_(3 * static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_), paper) {}

  /// Puts a picture into the middle of a cell; it must fit.
  void put(int column, int row, const Picture& picture) {
    const int left = gap + column * (cell_ + gap) + (cell_ - picture.width) / 2;
    const int top = gap + row * (cell_ + gap) + (cell_ - picture.height) / 2;
    const std::size_t bytes = 3 * static_cast<std::size_t>(picture.width);
    for (int y = 0; y < picture.height; ++y) {
      std::memcpy(&rgb_[3 * (static_cast<std::size_t>(top + y) * static_cast<std::size_t>(width_) +
                             static_cast<std::size_t>(left))],
                  picture.rgb + bytes * static_cast<std::size_t>(y), bytes);
    }
  }
  std::vector<std::byte> png() const { return encode_png(rgb_.data(), width_, height_); }

 private:
  int cell_;
  int width_;
  int height_;
  std::vector<std::uint8_t> rgb_;
};

struct Owned {
  std::vector<std::uint8_t> rgb;
  int width = 0;
  int height = 0;
  Picture view() const { return {rgb.data(), width, height}; }
};

// Classes in their colours, `nowhere` in grey; values beyond a byte share colours.
template <class Label>
std::vector<std::uint8_t> coloured(const Label* labels, std::size_t count, unsigned nowhere) {
  std::vector<std::uint8_t> rgb;
  rgb.reserve(3 * count);
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned label = labels[i] < 256 ? labels[i] : 1 + labels[i] % 255U;
    const Colour colour =
        label == nowhere ? look::axis : class_colour(static_cast<std::uint8_t>(label));
    rgb.insert(rgb.end(), {colour.red, colour.green, colour.blue});
  }
  return rgb;
}

// The picture as it is to be shown, no side longer than the cell; a mask of values (`labels`) in
// colours of these.
Owned shown(const Sample& sample, std::string_view field, int cell, bool labels) {
  const Tensor& file = sample[field];
  ImageDecoder& decoder = ImageDecoder::this_thread();
  const ImageHeader header = decoder.open(file.as_bytes());
  const int across = header.shown_width();
  const int down = header.shown_height();
  const double scale = double(cell) / std::max(across, down);
  const int width = std::clamp(static_cast<int>(across * scale), 1, cell);
  const int height = std::clamp(static_cast<int>(down * scale), 1, cell);
  const std::size_t pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  const ImageWindow whole{0, 0, double(across), double(down), {.width = across, .height = down}};
  if (labels && !decoder.keeps_colours()) {
    std::vector<std::uint16_t> values(pixels);
    decoder.decode_labels(
        whole, {.labels = values.data(), .dtype = DType::uint16, .height = height, .width = width});
    return {.rgb = coloured(values.data(), pixels, no_value), .width = width, .height = height};
  }
  Owned picture{.rgb = std::vector<std::uint8_t>(3 * pixels), .width = width, .height = height};
  decoder.decode(whole, {.rgb = picture.rgb.data(), .height = height, .width = width});
  return picture;
}

// Nearest pixels: nothing is smoothed away of what the trainer gets. Small pictures are enlarged by
// whole numbers.
Owned fitted(const std::uint8_t* rgb, int width, int height, int cell) {
  const double fit = double(cell) / std::max(width, height);
  const double scale = fit < 1.0 ? fit : std::floor(fit);
  Owned picture;
  picture.width = std::max(1, static_cast<int>(width * scale));
  picture.height = std::max(1, static_cast<int>(height * scale));
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < picture.width; ++x) {
      const std::size_t from_y = static_cast<std::size_t>(y * height / picture.height);
      const std::size_t from_x = static_cast<std::size_t>(x * width / picture.width);
      const std::uint8_t* pixel = rgb + 3 * (from_y * static_cast<std::size_t>(width) + from_x);
      picture.rgb.insert(picture.rgb.end(), pixel, pixel + 3);
    }
  }
  return picture;
}

bool is_picture(const FieldSpec& field) {
  return field.dtype == DType::uint8 && field.kind == FieldSpec::Kind::fixed &&
         field.shape.rank() == 3 && field.shape[2] == 3;
}

const FieldSpec* find_picture(const Schema& fields) {
  const auto found = std::find_if(fields.begin(), fields.end(), is_picture);
  return found == fields.end() ? nullptr : &*found;
}

bool is_mask(const FieldSpec& field, const Shape& picture) {
  return field.dtype == DType::uint8 && field.kind == FieldSpec::Kind::fixed &&
         field.shape == Shape{picture[0], picture[1]};
}

// Names of the fields that are shown.
struct SheetFields {
  std::string picture{};
  std::string mask{};  // empty: there is none

  int columns() const { return mask.empty() ? 1 : 2; }
};

SheetFields sheet_fields(const Schema& fields) {
  const FieldSpec& picture = *find_picture(fields);
  SheetFields found{.picture = picture.name};
  for (const FieldSpec& field : fields)
    if (found.mask.empty() && is_mask(field, picture.shape)) found.mask = field.name;
  return found;
}

// A picture, [height, width, 3], or classes, [height, width].
Owned cell_of(const Tensor& pixels, int cell) {
  const auto height = static_cast<int>(pixels.shape()[0]);
  const auto width = static_cast<int>(pixels.shape()[1]);
  if (pixels.shape().rank() == 3) return fitted(pixels.data<std::uint8_t>(), width, height, cell);
  const auto count = static_cast<std::size_t>(pixels.elements());
  return fitted(coloured(pixels.data<std::uint8_t>(), count, ignored_label).data(), width, height,
                cell);
}

void require_pictures(const Tensor& images) {
  const Shape& shape = images.shape();
  if (images.dtype() == DType::uint8 && shape.rank() == 4 && shape[3] == 3) return;
  throw ConfigError(
      fmt::format("[inspect] a contact sheet needs uint8 pictures [rows, height, width, 3], got {}",
                  to_string(FieldSpec::fixed("image", images.dtype(), shape))));
}

/// For each of the first epochs a column of pictures, and one of their masks.
void put_fed(Sheet& sheet, const Pipeline& fed, const SheetFields& fields, int first_column,
             const SheetOptions& options) {
  Loader loader = fed.build({.prefetch = 1});
  for (int draw = 0; draw < options.draws; ++draw) {
    const int column = first_column + draw * fields.columns();
    int first_row = 0;
    for (Batch& batch : loader.epoch(draw)) {
      const Tensor pictures = batch[fields.picture];
      require_pictures(pictures);
      for (int row = 0; row < static_cast<int>(batch.size()); ++row) {
        sheet.put(column, first_row + row, cell_of(pictures.row(row), options.cell).view());
        if (!fields.mask.empty())
          sheet.put(column + 1, first_row + row,
                    cell_of(batch[fields.mask].row(row), options.cell).view());
      }
      first_row += static_cast<int>(batch.size());
    }
  }
}

}  // namespace

std::vector<std::byte> contact_sheet(const std::shared_ptr<const ImageSource>& source,
                                     const std::vector<std::int64_t>& records, const Pipeline& fed,
                                     const SheetOptions& options) {
  const int before = source->has_masks() ? 2 : 1;
  Sheet sheet(before + options.draws, static_cast<int>(records.size()), options.cell);
  for (std::size_t row = 0; row < records.size(); ++row) {
    Sample sample;
    source->read(records[row], sample);
    sheet.put(0, static_cast<int>(row), shown(sample, "image", options.cell, false).view());
    if (before == 2)
      sheet.put(1, static_cast<int>(row), shown(sample, "mask", options.cell, true).view());
  }
  put_fed(sheet, fed, {.picture = "image"}, before, options);
  return sheet.png();
}

std::string why_no_sheet(const DataPart& part) {
  const bool volumes = volume_fields(part.fields).has_value();
  if (!volumes && find_picture(part.fields) == nullptr) {
    return to_string(part.fields) +
           " holds no picture, uint8 [height, width, 3], and no volume, float32 or integers "
           "[channels, z, y, x]";
  }
  if (part.fed) return "";
  return fmt::format("this job does not show what its pipeline makes of its {}",
                     volumes ? "volumes" : "pictures");
}

std::vector<std::byte> contact_sheet(const DataPart& part, const std::vector<std::int64_t>& records,
                                     const SheetOptions& options) {
  if (volume_fields(part.fields)) return volume_sheet(part, records, options);
  const SheetFields fields = sheet_fields(part.fields);
  Sheet sheet((1 + options.draws) * fields.columns(), static_cast<int>(records.size()),
              options.cell);
  for (std::size_t row = 0; row < records.size(); ++row) {
    Sample sample;
    part.records->read(records[row], sample);
    if (part.make) part.make(sample);
    sheet.put(0, static_cast<int>(row), cell_of(sample[fields.picture], options.cell).view());
    if (!fields.mask.empty())
      sheet.put(1, static_cast<int>(row), cell_of(sample[fields.mask], options.cell).view());
  }
  put_fed(sheet, part.fed(records), fields, fields.columns(), options);
  return sheet.png();
}

}  // namespace headrace::inline v1::app
