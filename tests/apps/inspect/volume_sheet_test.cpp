// What `headrace inspect` draws and says of volumes.
#include <headrace/apps/feed/augment.h>
#include <headrace/apps/inspect/contact_sheet.h>
#include <headrace/apps/inspect/data_survey.h>
#include <headrace/apps/inspect/volume_sheet.h>
#include <headrace/apps/plot/class_colours.h>
#include <headrace/apps/plot/look.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/sample/source.h>
#include <headrace/engine/sample/subset.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/tests/apps/started_program.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using app::Colour;
using app::Voxel;
using headrace::test::contains;

namespace {

constexpr Voxel extent{20, 30, 24};
const Shape image_shape{2, 20, 30, 24};
const Shape label_shape{20, 30, 24};

/// Where planes of known values cross: 60 across z, 120 across y, 240 across x, the larger wins.
/// Channel 0 is the same a hundred times darker. Around the crossing are 3 x 3 x 3 voxels of class
/// 2; one corner is labelled 9.
struct Cross final : Source {
  explicit Cross(Voxel crossing, bool has_label = true, DType type = DType::float32)
      : at(crossing), labelled(has_label), dtype(type) {}

  std::string name() const override { return "cross"; }
  std::int64_t size() const override { return 3; }
  Schema fields() const override {
    return {FieldSpec::fixed("photo", dtype, image_shape),
            FieldSpec::fixed("label", DType::int16, label_shape)};
  }
  std::string origin(std::int64_t index) const override { return "case " + std::to_string(index); }
  void read(std::int64_t, Sample& sample) const override {
    Tensor& image = sample.make("photo", dtype, image_shape);
    auto label = sample.make("label", DType::int16, label_shape).values<std::int16_t>();
    std::size_t i = 0;
    for (std::int64_t z = 0; z < extent[0]; ++z) {
      for (std::int64_t y = 0; y < extent[1]; ++y) {
        for (std::int64_t x = 0; x < extent[2]; ++x, ++i) {
          const double value = x == at[2] ? 240 : y == at[1] ? 120 : z == at[0] ? 60 : 0;
          const bool near =
              std::abs(z - at[0]) < 2 && std::abs(y - at[1]) < 2 && std::abs(x - at[2]) < 2;
          set(image, i, value / 100.0);
          set(image, label.size() + i, value);
          label[i] = static_cast<std::int16_t>(labelled && near ? 2 : 0);
        }
      }
    }
    if (labelled) label[0] = 9;
  }

  static void set(Tensor& image, std::size_t i, double value) {
    if (image.dtype() == DType::float32)
      image.values<float>()[i] = static_cast<float>(value);
    else
      image.values<std::int16_t>()[i] = static_cast<std::int16_t>(value);
  }

  Voxel at;
  bool labelled;
  DType dtype;
};

/// `list` is the pipeline that is shown.
app::DataPart part_of_volumes(std::shared_ptr<const Source> source,
                              const std::string& list = "[]") {
  app::DataPart part{.name = "training", .records = source, .fields = source->fields()};
  part.classes = {"background", "one", "two"};
  part.fed = [source, list](std::vector<std::int64_t> records) {
    const app::AugmentSteps steps = app::make_augment_steps(
        app::augment_list(list), {.fields = source->fields(), .masks = {"label"}});
    return steps.before_batch(Pipeline::from(Subset(source, std::move(records))))
        .batch({.size = 2});
  };
  return part;
}

/// A sheet's pixels, and where its planes lie.
struct Sheet {
  Sheet(const std::vector<std::byte>& png, int side) : cell(side) {
    ImageDecoder& decoder = ImageDecoder::this_thread();
    const ImageHeader header = decoder.open({png.data(), png.size()});
    width = header.shown_width();
    height = header.shown_height();
    rgb.resize(3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
    decoder.decode({0, 0, double(width), double(height), {.width = width, .height = height}},
                   {.rgb = rgb.data(), .height = height, .width = width});
  }

  /// The pixel in the middle of a voxel of a plane that is so many rows high and columns wide.
  Colour at(std::array<int, 2> row_column, int axis, std::array<std::int64_t, 2> voxel) const {
    const std::int64_t high = axis == 0 ? extent[1] : extent[0];
    const std::int64_t wide = axis == 2 ? extent[1] : extent[2];
    const double scale = cell / static_cast<double>(std::max(high, wide));
    const double left = 20 + row_column[1] * (3 * cell + 26) + axis * (cell + 4) +
                        (cell - scale * static_cast<double>(wide)) / 2;
    const double top = 20 + 40 + row_column[0] * (cell + 4 + 2 * 19 + 18) +
                       (cell - scale * static_cast<double>(high)) / 2;
    const auto y = static_cast<std::size_t>(top + scale * (static_cast<double>(voxel[0]) + 0.5));
    const auto x = static_cast<std::size_t>(left + scale * (static_cast<double>(voxel[1]) + 0.5));
    const std::uint8_t* pixel = &rgb[3 * (y * static_cast<std::size_t>(width) + x)];
    return {pixel[0], pixel[1], pixel[2]};
  }

  int cell;  // pixels of a plane's longer side
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgb{};
};

Sheet sheet_of(const app::DataPart& part, const std::vector<std::int64_t>& records,
               app::SheetOptions options) {
  options.cell = 180;
  return {app::contact_sheet(part, records, options), options.cell};
}

bool is(Colour colour, int red, int green, int blue) {
  return std::abs(colour.red - red) <= 2 && std::abs(colour.green - green) <= 2 &&
         std::abs(colour.blue - blue) <= 2;
}

bool is_grey(Colour colour, int level) {
  return is(colour, level, level, level);
}

/// A contour of class 2 over grey.
bool is_contour(Colour colour, double grey) {
  const Colour two = app::class_colour(2);
  const auto over = [grey](int part) { return static_cast<int>(0.3 * grey + 0.7 * part); };
  return is(colour, over(two.red), over(two.green), over(two.blue));
}

constexpr Voxel spot{12, 8, 17};

}  // namespace

TEST_CASE(
    "the three planes through the label are drawn, before the pipeline and as often after it") {
  const app::DataPart part = part_of_volumes(std::make_shared<const Cross>(spot),
                                             "[{volume_brightness: {p: 1, factor: [1.5, 1.5]}}]");
  const Sheet sheet = sheet_of(part, {2, 0, 1}, {.draws = 2, .channel = 1});
  CHECK(sheet.width == 40 + 3 * (3 * 180 + 26) - 18);
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) {
      CAPTURE(row);
      CAPTURE(column);
      const int twice = column == 0 ? 2 : 3;
      CHECK(is_grey(sheet.at({row, column}, 0, {20, 4}), 32 * twice));
      CHECK(is_grey(sheet.at({row, column}, 0, {8, 4}), 64 * twice));
      CHECK(is_grey(sheet.at({row, column}, 0, {20, 17}), 255));
      CHECK(is_grey(sheet.at({row, column}, 1, {3, 4}), 64 * twice));
      CHECK(is_grey(sheet.at({row, column}, 1, {3, 17}), 255));
      CHECK(is_grey(sheet.at({row, column}, 2, {3, 21}), 255));
    }
  }
}

TEST_CASE("classes have contours in their colours, and what is no class is grey") {
  const app::DataPart part = part_of_volumes(std::make_shared<const Cross>(spot));
  const Sheet sheet = sheet_of(part, {0}, {.draws = 1, .channel = 1});
  for (const int column : {0, 1}) {
    CHECK(is_contour(sheet.at({0, column}, 0, {7, 16}), 64));
    CHECK(is_contour(sheet.at({0, column}, 0, {9, 17}), 255));
    CHECK(is_grey(sheet.at({0, column}, 0, {8, 17}), 255));  // inside
    CHECK(is_contour(sheet.at({0, column}, 1, {11, 16}), 128));
    CHECK(is_contour(sheet.at({0, column}, 2, {13, 9}), 255));
  }
  // The corner that is labelled 9, in its plane.
  Sample sample;
  Cross({0, 0, 0}).read(0, sample);
  const app::ShownVolume volume =
      app::shown_volume({.image = sample["photo"], .channel = 1}, sample["label"], 3);
  CHECK(volume.labels.at(0) == app::ShownVolume::no_class);
  CHECK(volume.labels.at(1) == 2);
  const app::Pixels corner = app::slice(volume, {0.0F, 240.0F}, 0, {0, 0, 0}, 100);
  CHECK(corner.rgb.at(0) == std::lround(0.3 * 255 + 0.7 * app::look::axis.red));
  const app::ShownVolume of_any =
      app::shown_volume({.image = sample["photo"], .channel = 1}, sample["label"], 0);
  CHECK(of_any.labels.at(0) == 9);
}

TEST_CASE("without a label, or with an empty one, the planes go through the middle") {
  const auto check_middle = [](const app::DataPart& part) {
    const Sheet sheet = sheet_of(part, {0}, {.draws = 1, .channel = 1});
    CHECK(is_grey(sheet.at({0, 0}, 0, {3, 3}), 64));
    CHECK(is_grey(sheet.at({0, 1}, 1, {3, 3}), 128));
    CHECK(is_grey(sheet.at({0, 1}, 2, {3, 3}), 255));
  };
  const auto middle = std::make_shared<const Cross>(Voxel{10, 15, 12}, false);
  check_middle(part_of_volumes(middle));
  app::DataPart part = part_of_volumes(middle);
  part.fields = {part.fields[0]};
  check_middle(part);
}

TEST_CASE("one channel is shown, and integers as well as float32") {
  for (const DType dtype : {DType::float32, DType::int16}) {
    const app::DataPart part = part_of_volumes(std::make_shared<const Cross>(spot, true, dtype));
    CHECK(app::why_no_sheet(part).empty());
    const Sheet second = sheet_of(part, {0}, {.draws = 1, .channel = 1});
    CHECK(is_grey(second.at({0, 0}, 0, {20, 4}), 64));
    const Sheet first = sheet_of(part, {0}, {.draws = 1});  // as integers 2, 1 and 0
    CHECK(is_grey(first.at({0, 0}, 0, {20, 4}), dtype == DType::float32 ? 64 : 0));
    CHECK_THROWS_WITH_AS(app::check_channel(part, {.channel = 2}),
                         doctest::Contains("--channel must be 0 to 1 of these volumes, got 2"),
                         ConfigError);
    CHECK_THROWS_AS(app::contact_sheet(part, {0}, {.channel = 2}), ConfigError);
  }
}

TEST_CASE(
    "what is grey is told by the record before the pipeline, its outliers and holes left out") {
  std::vector<float> values(10000);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i);
  values[7] = std::numeric_limits<float>::quiet_NaN();
  values[8] = std::numeric_limits<float>::infinity();
  const app::GreyWindow window = app::grey_window(values);
  CHECK(window.least == doctest::Approx(50.0).epsilon(0.05));
  CHECK(window.most == doctest::Approx(9949.0).epsilon(0.001));
  const app::GreyWindow flat = app::grey_window({3.0F, 3.0F});
  CHECK(flat.least < flat.most);
  CHECK(app::grey_window({}).least < app::grey_window({}).most);
  app::ShownVolume volume{.extent = {1, 1, 3}, .values = {values[7], -1e9F, 1e9F}};
  const app::Pixels row = app::slice(volume, window, 0, {0, 0, 0}, 9);
  CHECK(row.rgb == std::vector<std::uint8_t>{0, 0, 0, 0, 0, 0, 255, 255, 255});
}

TEST_CASE("planes cross in the foreground, even where its centre is not") {
  app::ShownVolume ring{.extent = {1, 9, 9}, .values = std::vector<float>(81)};
  ring.labels.assign(81, 0);
  for (std::size_t i = 0; i < 9; ++i)
    for (const std::size_t at : {i, 72 + i, 9 * i, 9 * i + 8})
      ring.labels[at] = 1;
  const Voxel found = app::crossing(ring);
  CHECK(ring.labels.at(static_cast<std::size_t>(9 * found[1] + found[2])) == 1);
  CHECK(std::abs(found[1] - 4) + std::abs(found[2] - 4) == 4);
  ring.labels[40] = app::ShownVolume::no_class;  // counts nowhere
  CHECK(app::crossing(ring) == found);
}

TEST_CASE("large planes are shrunk, and a large sheet's as far as it takes") {
  app::ShownVolume volume{.extent = {1, 300, 600}, .values = std::vector<float>(180000, 1.0F)};
  const app::Pixels plane = app::slice(volume, {0.0F, 1.0F}, 0, {0, 0, 0}, 100);
  CHECK(plane.width == 100);
  CHECK(plane.height == 50);
  CHECK(plane.rgb.at(7) == 255);
  const app::DataPart part = part_of_volumes(std::make_shared<const Cross>(spot));
  const std::vector<std::int64_t> many(40, 1);
  const Sheet sheet(app::contact_sheet(part, many, {.draws = 4, .cell = 400}), 400);
  CHECK(sheet.width * sheet.height < 12'000'000);
  CHECK(sheet.width * sheet.height > 10'000'000);
}

TEST_CASE("a part without volumes, or that is not fed, says why there is no sheet") {
  app::DataPart part = part_of_volumes(std::make_shared<const Cross>(spot));
  part.fed = nullptr;
  CHECK(contains(app::why_no_sheet(part), "what its pipeline makes of its volumes"));
  part.fields = {part.fields[1]};
  CHECK(contains(app::why_no_sheet(part), "no volume, float32 or integers [channels, z, y, x]"));
  CHECK_FALSE(app::volume_fields(part.fields));
}

TEST_CASE("a survey looks at volumes and their labels a record at a time") {
  const app::DataPart part = part_of_volumes(std::make_shared<const Cross>(spot));
  for (const int threads : {1, 2, 8}) {
    const app::DataSurvey found = app::survey(part, {.threads = threads});
    CHECK(found.records == 3);
    CHECK(found.bad.empty());
    CHECK(found.fields.at(0).numbers == 3 * image_shape.elements());
    CHECK(found.fields.at(0).most == 240.0);
    CHECK(found.fields.at(1).most == 9.0);
    CHECK(found.fields.at(1).counts.empty());
    const std::string text = app::to_text(found, part);
    CHECK(contains(text, "photo  float32  [2, 20, 30, 24]  0 to 240"));
    CHECK(contains(text, "label  int16    [20, 30, 24]     0 to 9"));
  }
}
