// Masks, and settings of masks, that nobody can train on.
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/loaders/image_files.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using headrace::test::Bytes;
using headrace::test::encode_png;
using headrace::test::Pixels;
using headrace::test::TrainingFolder;
using headrace::test::write_bytes;
using headrace::test::write_squares;
using headrace::test::WrongData;

namespace fs = std::filesystem;

void cut_off(const fs::path& file) {
  fs::resize_file(file, fs::file_size(file) / 2);
}

void write_png_mask(const fs::path& file, const headrace::test::PngSpec& spec,
                    std::size_t row_bytes, std::uint8_t value) {
  const Pixels rows(row_bytes * static_cast<std::size_t>(spec.height), value);
  write_bytes(file, encode_png(spec, rows, row_bytes));
}

void check_refused(const WrongData& wrong) {
  const TrainingFolder folder;
  const fs::path data = folder.path() / "data";
  write_squares(data / "images", data / "masks", 24, 255);
  std::ofstream(folder.path() / "job.yaml")
      << "kind: segmentation\ndata: {train: {folder: data/images, masks: data/masks}}\n"
         "mask: {classes: [{name: ground, values: [0]}, {name: square, values: [255]}]}\n";
  if (wrong.spoil) wrong.spoil(data);
  folder.check_refused(wrong);
}

}  // namespace

TEST_CASE("mask files that cannot be learnt from are refused before the first step") {
  const std::vector<WrongData> all{
      {"value of no class",
       [](const fs::path& data) { headrace::test::write_square_mask(data / "masks/13.png", 200); },
       {},
       {"13.png", "values of its map (0, 255)", "got 200", "nearest is 255"}},
      {"another size than its picture",
       [](const fs::path& data) {
         write_png_mask(data / "masks/7.png",
                        {.width = 20, .height = 20, .colour = PNG_COLOR_TYPE_GRAY}, 20, 0);
       },
       {},
       {"7.png", "48", "20"}},
      {"cut off", [](const fs::path& data) { cut_off(data / "masks/5.png"); }, {}, {"5.png"}},
      {"picture cut off",
       [](const fs::path& data) { cut_off(data / "images/6.png"); },
       {},
       {"6.png"}},
      {"empty",
       [](const fs::path& data) { fs::resize_file(data / "masks/5.png", 0); },
       {},
       {"5.png"}},
      {"no picture at all",
       [](const fs::path& data) { std::ofstream(data / "masks/5.png") << "square at 5, 7"; },
       {},
       {"5.png"}},
      {"missing",
       [](const fs::path& data) { fs::remove(data / "masks/3.png"); },
       {},
       {"3.png", "has no mask"}},
      {"one too many",
       [](const fs::path& data) { fs::remove(data / "images/3.png"); },
       {},
       {"3.png", "has no image"}},
      {"in colour for classes by values",
       [](const fs::path& data) {
         const Pixels red_and_grey(48 * 48 * 3, 9);
         Pixels rows = red_and_grey;
         rows[0] = 200;
         write_bytes(data / "masks/4.png", encode_png({.width = 48, .height = 48}, rows, 144));
       },
       {},
       {"4.png", "colour"}},
      {"a colour of no class",
       {},
       {"mask.classes=[{name: ground, colours: [[0, 0, 0]]}, {name: square, colours: [[255, 0, "
        "0]]}]"},
       {"0.png", "leave them out for files of labels"}},
      {"an index of no class",
       [](const fs::path& data) {
         write_png_mask(data / "masks/9.png",
                        {.width = 48,
                         .height = 48,
                         .colour = PNG_COLOR_TYPE_PALETTE,
                         .palette = {{0, 0, 0}, {1, 1, 1}, {255, 255, 255}}},
                        48, 2);
       },
       {},
       {"9.png", "got 2"}},
      {"16 bits",
       [](const fs::path& data) {
         write_png_mask(data / "masks/8.png",
                        {.width = 48, .height = 48, .bits = 16, .colour = PNG_COLOR_TYPE_GRAY}, 96,
                        3);
       },
       {},
       {"8.png", "771"}},
      {"JPEG",
       [](const fs::path& data) {
         fs::remove(data / "masks/8.png");
         write_bytes(data / "masks/8.jpg",
                     headrace::test::encode_jpeg({.width = 48, .height = 48, .components = 1},
                                                 Pixels(48 * 48, 100)));
       },
       {},
       {"8.png", "JPEG", "store masks as PNG"}},
      {"no masks in their folder",
       [](const fs::path& data) {
         fs::remove_all(data / "masks");
         fs::create_directories(data / "masks");
       },
       {},
       {"masks"}},
      {"no pictures in their folder",
       [](const fs::path& data) {
         fs::remove_all(data / "images");
         fs::create_directories(data / "images");
       },
       {},
       {"images", "must hold an image"}},
      {"a folder as a mask",
       [](const fs::path& data) {
         fs::remove(data / "masks/2.png");
         fs::create_directories(data / "masks/2.png");
       },
       {},
       {"2.png"}},
  };
  for (const WrongData& wrong : all)
    check_refused(wrong);
}

TEST_CASE("settings of masks that contradict each other or the files are refused") {
  const std::vector<WrongData> all{
      {"none", {}, {"mask.classes=[]"}, {"must name 2 to 254 classes"}},
      {"one", {}, {"mask.classes=[{name: a, values: [0]}]"}, {"must name 2 to 254 classes, ", "1"}},
      {"value twice",
       {},
       {"mask.classes=[{name: a, values: [0]}, {name: b, values: [0]}]"},
       {"value 0 must stand for one class"}},
      {"value of a class ignored", {}, {"mask.ignore=[255]"}, {"value 255", "ignore"}},
      {"name twice", {}, {"mask.classes=[{name: a}, {name: a}]"}, {"stands twice"}},
      {"no name", {}, {"mask.classes=[{values: [0]}]"}, {"name"}},
      {"values and colours",
       {},
       {"mask.classes=[{name: a, values: [0], colours: [[0, 0, 0]]}, {name: b}]"},
       {"\"a\" must have values or colours"}},
      {"colours of some",
       {},
       {"mask.classes=[{name: a, colours: [[0, 0, 0]]}, {name: b}]"},
       {"for all classes or for none"}},
      {"a colour of two numbers",
       {},
       {"mask.classes=[{name: a, colours: [[0, 0]]}, {name: b, colours: [[1, 0, 0]]}]"},
       {"mask.classes"}},
      {"misspelt",
       {},
       {"mask.classes=[{nmae: a}, {name: b}]"},
       {"did you mean \"mask.classes.0.name\"?"}},
      {"places instead of values",
       {},
       {"mask.classes=[{name: a}, {name: b}]"},
       {"got 255", ".png"}},
      {"no folder", {}, {"data.train.masks=data/none"}, {"data/none"}},
      {"a folder that is nearly there",
       {},
       {"data.train.masks=data/mask"},
       {"data.train.masks", "did you mean data/masks?"}},
      {"no masks named", {}, {"data.train.masks=\"\""}, {"must name a folder of masks"}},
      {"pictures as masks", {}, {"data.train.masks=data/images"}, {"mask_suffix"}},
      {"a suffix that no mask has", {}, {"data.train.mask_suffix=_mask"}, {"_mask"}},
      {"a size that the network cannot halve", {}, {"image.size=40"}, {"must be a multiple of 32"}},
      {"weights of classes", {}, {"imbalance.weights=inverse"}, {"is not known"}},
      {"a figure misspelt", {}, {"selected_by=men_dice"}, {"did you mean \"mean_dice\"?"}},
      {"a network of the other task", {}, {"model.name=resnet18"}, {"model.name must be one of"}},
      {"an encoder that is none", {}, {"model.encoder=resnet20"}, {"resnet18"}},
      {"an encoder of another network",
       {},
       {"model.name=camoxpert", "model.encoder=resnet18"},
       {"model.encoder must be one of edgenext_base"}},
      {"experts of a network without", {}, {"model.experts=4"}, {"camoxpert or camoxpert_lean"}},
      {"more experts than kinds",
       {},
       {"model.name=camoxpert_lean", "model.experts=5"},
       {"model.experts must be 2 to 4 of camoxpert_lean"}},
      {"more experts than any has", {}, {"model.name=camoxpert", "model.experts=8"}, {"at most 7"}},
      {"a crop that masks cannot follow", {}, {"augment=[{mixup: 0.2}]"}, {"mixup"}},
      {"sigmoids and softmax", {}, {"loss=[bce, cross_entropy]"}, {"take one of them"}},
      {"deep outputs of a network that has none",
       {},
       {"loss=[cross_entropy, {dice: {}, on: deep}]"},
       {"on must be an output of the network"}},
  };
  for (const WrongData& wrong : all)
    check_refused(wrong);
}
