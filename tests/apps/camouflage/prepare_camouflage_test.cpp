// On cut-outs and photographs made here; nothing is fetched.
#include <headrace/apps/jobs/camouflage/prepare.h>
#include <headrace/apps/jobs/camouflage/records.h>
#include <headrace/apps/jobs/camouflage/split_sources.h>
#include <headrace/apps/task/find_data.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/folder_lock.h>
#include <headrace/loaders/image/decode_image.h>
#include <headrace/loaders/image/image_pairs.h>
#include <headrace/loaders/image/png_reader.h>
#include <headrace/loaders/image/png_writer.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/picture.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <png.h>

using namespace headrace;
namespace fs = std::filesystem;

namespace {

void write_rgba(const fs::path& file, const RgbaPicture& picture) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = PNG_FORMAT_RGBA;
  fs::create_directories(file.parent_path());
  REQUIRE(png_image_write_to_file(&image, file.c_str(), 0, picture.rgba.data(), 0, nullptr) != 0);
}

/// An ellipse of alpha 255 that fills a picture of at most 100 rows, of colours that depend on the
/// seed.
RgbaPicture ellipse(int width, unsigned seed) {
  RgbaPicture picture{.width = width, .height = std::min(width, 100)};
  const test::Pixels rgb = test::picture(width, picture.height, 3, seed);
  for (int i = 0; i < width * picture.height; ++i) {
    const double dx = (i % width + 0.5) / width - 0.5;
    const double dy = (i / width + 0.5) / picture.height - 0.5;
    const auto at = static_cast<std::size_t>(3 * i);
    const std::uint8_t alpha = dx * dx + dy * dy < 0.25 ? 255 : 0;
    picture.rgba.insert(picture.rgba.end(), {rgb[at], rgb[at + 1], rgb[at + 2], alpha});
  }
  return picture;
}

/// Cut-outs below birds, fish and mammals, and photographs.
struct Sources {
  Sources() {
    unsigned seed = 0;
    for (const char* folder : {"birds", "fish", "mammals/aquatic", "mammals"}) {
      for (const char* kind : {"ant", "bee", "cat", "doe"}) {
        ++seed;
        write_rgba(animals / folder / (folder_word(folder) + kind + "_1.png"),
                   ellipse(120 + static_cast<int>(seed % 5) * 10, seed));
      }
    }
    for (const char* kind : {"ant", "bee", "cat", "doe"})
      write_rgba(animals / "birds" / (std::string("birds") + kind + "-2.png"),
                 ellipse(140, ++seed));
    write_rgba(animals / "birds/small.png", ellipse(60, 98));
    RgbaPicture opaque = ellipse(120, 97);
    for (std::size_t i = 3; i < opaque.rgba.size(); i += 4)
      opaque.rgba[i] = 255;
    write_rgba(animals / "birds/opaque.png", opaque);
    for (unsigned i = 1; i <= 6; ++i) {
      const test::Pixels rgb = test::picture(200, 160, 3, i);
      test::write_bytes(backgrounds / (std::to_string(i) + ".png"),
                        encode_png(rgb.data(), 200, 160));
    }
  }
  static std::string folder_word(std::string folder) {
    std::erase(folder, '/');
    return folder;
  }
  app::CamouflageOptions options(const char* output) const {
    return {.output = root.path() / output,
            .side = 64,
            .train = 30,
            .validation = 8,
            .test = 12,
            .threads = 2,
            .animals = animals,
            .backgrounds = backgrounds};
  }

  test::TemporaryFolder root{};
  fs::path animals = root / "animals";
  fs::path backgrounds = root / "backgrounds";
};

/// Every file below the folder and its bytes.
std::map<std::string, std::string> files_of(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      files[entry.path().lexically_relative(folder)] = test::content_of(entry.path());
  return files;
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool says(const std::string& text, const char* words) {
  return text.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("prepare camouflage writes COD10K's layout and names, and masks of 0 and 255") {
  const Sources sources;
  REQUIRE(app::prepare_camouflage(sources.options("made")) == app::ExitCode::done);
  const fs::path made = sources.root / "made";
  const app::FoundData found = app::find_masks(made);
  REQUIRE((found.validation.has_value() && found.test.has_value()));
  const std::array<const app::DataSet*, 3> parts{&found.train, &*found.validation, &*found.test};
  const std::array<std::int64_t, 3> counts{30, 8, 12};
  std::array<std::set<std::string>, 3> super_classes;
  std::set<std::string> names;
  for (std::size_t part = 0; part < 3; ++part) {
    const ImagePairs pairs({.images = parts.at(part)->folder, .masks = parts.at(part)->masks});
    REQUIRE(pairs.size() == counts.at(part));
    DecodeImage decode{.crop = WholeImage{64, 64}};
    decode.masks = {"mask"};
    for (std::int64_t i = 0; i < pairs.size(); ++i) {
      const std::string path(pairs.path(i));
      const app::CodName name = app::cod_name_of(path);
      CHECK(name.camouflaged);
      CHECK_FALSE(name.sub_class.empty());
      super_classes.at(part).insert(name.super_class);
      CHECK(names.insert(path.substr(path.find_last_of('-'))).second);
      Sample sample;
      pairs.read(i, sample);
      Random none;
      decode(sample, none);
      const auto mask = sample["mask"].values<std::uint8_t>();
      const auto animal = std::ranges::count(mask, 255);
      CHECK(animal + std::ranges::count(mask, 0) == 64 * 64);
      CHECK(animal > 64 * 64 / 500);
      CHECK(animal < 64 * 64 / 3);
    }
  }
  CHECK(super_classes[0] == std::set<std::string>{"Aquatic", "Flying", "Terrestrial"});
}

TEST_CASE("the README says which animals and backgrounds each part has, and none is in two") {
  const Sources sources;
  app::prepare_camouflage(sources.options("made"));
  const std::string text = test::content_of(sources.root / "made/README.txt");
  CHECK(says(text, "birds/small.png: smaller than 100 pixels"));
  CHECK(says(text, "birds/opaque.png: no cut-out, opaque all over"));
  std::map<std::string, int> met;
  std::array<std::string, 3> animals;
  std::istringstream lines(text);
  int part = -1;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Train:") || line.starts_with("Val:") || line.starts_with("Test:")) ++part;
    if (!says(line, " animals, ") && !says(line, " backgrounds, ")) continue;
    REQUIRE(part >= 0);
    if (says(line, " animals, ")) animals.at(static_cast<std::size_t>(part)) = line;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (std::string word; words >> word;)
      ++met[word];
  }
  CHECK(met.size() == 20 + 6);
  for (const auto& [word, times] : met)
    CHECK_MESSAGE(times == 1, word);
  // Two pictures of one kind are on one side.
  for (const std::string& line : animals) {
    for (const std::string kind : {"ant", "bee", "cat", "doe"})
      CHECK(says(line, ("birds/birds" + kind + "_1.png").c_str()) ==
            says(line, ("birds/birds" + kind + "-2.png").c_str()));
  }
  for (const char* word : {"birds/", "mammals/mammals"})
    for (const std::string& line : animals)
      CHECK(says(line, word));
}

TEST_CASE(
    "prepare camouflage writes the same bytes with any number of threads, not with any seed") {
  const Sources sources;
  const auto made = [&](const char* output, int threads, std::uint64_t seed) {
    app::CamouflageOptions options = sources.options(output);
    options.threads = threads;
    options.seed = seed;
    app::prepare_camouflage(options);
    return files_of(options.output);
  };
  const auto one = made("one", 1, 42);
  CHECK(made("two", 2, 42) == one);
  CHECK(made("eight", 8, 42) == one);
  const auto twin = made("twin", 2, 43);
  CHECK(twin.size() == one.size());
  int same = 0;
  for (const auto& [name, content] : one)
    same += name.ends_with(".jpg") && twin.contains(name) && twin.at(name) == content ? 1 : 0;
  CHECK(same == 0);
}

TEST_CASE("pictures depend on the seed, too, where it divides the sources alike") {
  const Sources sources;
  for (const char* folder : {"fish", "mammals"})
    fs::remove_all(sources.animals / folder);
  for (int i = 4; i <= 6; ++i)
    fs::remove(sources.backgrounds / (std::to_string(i) + ".png"));
  app::CamouflageOptions options = sources.options("one");
  app::prepare_camouflage(options);
  const auto one = files_of(options.output);
  const auto split = [](std::uint64_t seed) {
    std::vector<app::SourceToSplit> kinds;
    for (const char* kind : {"birdsant", "birdsbee", "birdscat", "birdsdoe"})
      kinds.push_back({.kind = kind, .super_class = 2});
    return std::pair(app::split_animals(kinds, seed), app::split_backgrounds(3, seed));
  };
  options.seed = 43;
  while (split(options.seed) != split(42))
    ++options.seed;
  options.output = sources.root / "twin";
  app::prepare_camouflage(options);
  const auto twin = files_of(options.output);
  CHECK(twin.at("README.txt") == one.at("README.txt"));
  std::set<std::string> pictures;
  for (const auto& files : {one, twin})
    for (const auto& [name, content] : files)
      if (name.ends_with(".jpg")) pictures.insert(content);
  CHECK(pictures.size() == 100);
}

TEST_CASE(
    "a prepared folder is kept, made anew where it is damaged, and nobody else's is touched") {
  const Sources sources;
  const app::CamouflageOptions options = sources.options("made");
  app::prepare_camouflage(options);
  const auto whole = files_of(options.output);
  const auto picture = std::ranges::find_if(
      whole, [](const auto& file) { return file.first.starts_with("Val/Imgs/"); });
  REQUIRE(picture != whole.end());
  const auto written = fs::last_write_time(options.output / "recipe.txt");
  app::prepare_camouflage(options);
  CHECK(fs::last_write_time(options.output / "recipe.txt") == written);
  fs::resize_file(options.output / picture->first, 1);
  app::prepare_camouflage(options);
  CHECK(files_of(options.output) == whole);
  fs::create_directories(options.output / "mine");
  fs::remove(options.output / picture->first);
  CHECK(says(refusal([&] { app::prepare_camouflage(options); }), "hold nothing else"));
  CHECK(fs::exists(options.output / "mine"));
  const app::CamouflageOptions other = sources.options("other");
  fs::create_directories(other.output);
  std::ofstream(other.output / "thesis.txt") << "mine";
  CHECK(says(refusal([&] { app::prepare_camouflage(other); }), "name another folder"));
  CHECK(files_of(other.output).size() == 1);
}

TEST_CASE("what was not finished is never seen under the folder's name") {
  const Sources sources;
  const app::CamouflageOptions options = sources.options("made");
  std::ofstream(sources.animals / "fish/zz.png", std::ios::binary) << "no picture";
  CHECK(says(refusal([&] { app::prepare_camouflage(options); }), "zz.png"));
  CHECK_FALSE(fs::exists(options.output));
  fs::remove(sources.animals / "fish/zz.png");
  {
    const FolderLock lock(sources.root / "made.unfinished");
    CHECK(says(refusal([&] { app::prepare_camouflage(options); }), "one program at a time"));
  }
  app::prepare_camouflage(options);
  CHECK(fs::exists(options.output / "recipe.txt"));
  CHECK_FALSE(fs::exists(sources.root / "made.unfinished"));
}

TEST_CASE("sources that are too few, too small or none are refused with what to do") {
  const Sources sources;
  app::CamouflageOptions options = sources.options("made");
  options.side = 192;
  CHECK(says(refusal([&] { app::prepare_camouflage(options); }), "smaller --side"));
  options = sources.options("made");
  options.backgrounds = sources.root / "nowhere";
  CHECK(
      says(refusal([&] { app::prepare_camouflage(options); }), "--backgrounds must name a folder"));
  options = sources.options("made");
  for (int i = 3; i <= 6; ++i)
    fs::remove(sources.backgrounds / (std::to_string(i) + ".png"));
  CHECK(says(refusal([&] { app::prepare_camouflage(options); }), "2 backgrounds"));
}
