#include <headrace/apps/inspect/contact_sheet.h>
#include <headrace/apps/inspect/volume_sheet.h>
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

// The picture as it is to be shown, no side longer than the cell.
Owned shown(const Sample& sample, std::string_view field, int cell) {
  const Tensor& file = sample[field];
  ImageDecoder& decoder = ImageDecoder::this_thread();
  const ImageHeader header =
      decoder.open({static_cast<const std::byte*>(file.raw()), file.bytes()});
  const int width = header.shown_width();
  const int height = header.shown_height();
  const double scale = double(cell) / std::max(width, height);
  Owned picture;
  picture.width = std::clamp(static_cast<int>(width * scale), 1, cell);
  picture.height = std::clamp(static_cast<int>(height * scale), 1, cell);
  picture.rgb.resize(3 * static_cast<std::size_t>(picture.width) *
                     static_cast<std::size_t>(picture.height));
  decoder.decode({0, 0, double(width), double(height), {.width = width, .height = height}},
                 {.rgb = picture.rgb.data(), .height = picture.height, .width = picture.width});
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

void put_batch(Sheet& sheet, const Tensor& images, int first_row, int column, int cell) {
  const Shape& shape = images.shape();
  if (images.dtype() != DType::uint8 || shape.rank() != 4 || shape[3] != 3) {
    throw ConfigError(fmt::format(
        "[inspect] a contact sheet needs uint8 pictures [rows, height, width, 3], got {}",
        to_string(FieldSpec::fixed("image", images.dtype(), shape))));
  }
  const auto height = static_cast<int>(shape[1]);
  const auto width = static_cast<int>(shape[2]);
  for (int row = 0; row < static_cast<int>(shape[0]); ++row) {
    const auto* rgb = images.row(row).data<std::uint8_t>();
    sheet.put(column, first_row + row, fitted(rgb, width, height, cell).view());
  }
}

/// A column for each of the first epochs.
void put_fed(Sheet& sheet, const Pipeline& fed, const std::string& field, int first_column,
             const SheetOptions& options) {
  Loader loader = fed.build({.prefetch = 1});
  for (int draw = 0; draw < options.draws; ++draw) {
    int row = 0;
    for (Batch& batch : loader.epoch(draw)) {
      put_batch(sheet, batch[field], row, first_column + draw, options.cell);
      row += static_cast<int>(batch.size());
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
    sheet.put(0, static_cast<int>(row), shown(sample, "image", options.cell).view());
    if (before == 2)
      sheet.put(1, static_cast<int>(row), shown(sample, "mask", options.cell).view());
  }
  put_fed(sheet, fed, "image", before, options);
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
  const std::string field = find_picture(part.fields)->name;
  Sheet sheet(1 + options.draws, static_cast<int>(records.size()), options.cell);
  for (std::size_t row = 0; row < records.size(); ++row) {
    Sample sample;
    part.records->read(records[row], sample);
    if (part.make) part.make(sample);
    const Tensor& image = sample[field];
    sheet.put(0, static_cast<int>(row),
              fitted(image.data<std::uint8_t>(), static_cast<int>(image.shape()[1]),
                     static_cast<int>(image.shape()[0]), options.cell)
                  .view());
  }
  put_fed(sheet, part.fed(records), field, 1, options);
  return sheet.png();
}

}  // namespace headrace::inline v1::app
