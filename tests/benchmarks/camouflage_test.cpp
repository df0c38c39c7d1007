#include <headrace/benchmarks/camouflage/overlap.h>
#include <headrace/benchmarks/camouflage/pictures.h>
#include <headrace/benchmarks/camouflage/unlearnt.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/image/png_writer.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <sys/wait.h>

using namespace headrace;
using namespace headrace::bench;
namespace fs = std::filesystem;

namespace {

constexpr int side = 32;
const std::vector<std::string> animals{"Cat", "Owl", "Crab"};

struct Place {
  int x;
  int y;
};

// An object of a quarter of the picture.
std::vector<std::uint8_t> box(Place at, std::uint8_t value) {
  std::vector<std::uint8_t> pixels(side * side);
  for (int y = at.y; y < at.y + side / 2; ++y)
    std::fill_n(pixels.begin() + y * side + at.x, side / 2, value);
  return pixels;
}

void save(const fs::path& file, const std::vector<std::byte>& bytes) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
}

std::vector<std::byte> mask_file(const std::vector<std::uint8_t>& pixels) {
  std::vector<std::array<std::uint8_t, 3>> palette(256);
  return encode_palette_png(pixels.data(), side, side, palette);
}

// Noise, in the box red if it is to be seen.
std::vector<std::byte> picture_file(Place at, bool seen, std::uint64_t seed) {
  Random random({.seed = seed});
  const std::vector<std::uint8_t> object = box(at, 1);
  std::vector<std::uint8_t> rgb;
  for (const std::uint8_t inside : object) {
    for (int channel = 0; channel < 3; ++channel) {
      const auto noise = static_cast<std::uint8_t>(random.below(40));
      rgb.push_back(inside != 0 && seen && channel == 0 ? 250 : noise);
    }
  }
  return encode_png(rgb.data(), side, side);
}

std::string name_of(int i) {
  return "COD10K-CAM-2-Terrestrial-23-" + animals[static_cast<std::size_t>(i) % 3] + "-" +
         std::to_string(i);
}

Place place_of(int i) {
  return {i % 2 * 16, i / 2 % 2 * 16};
}

// Twelve pictures of three animals in Imgs, their masks in GT_Object.
void make_part(const fs::path& folder, bool seen) {
  for (int i = 0; i < 12; ++i) {
    save(folder / "Imgs" / (name_of(i) + ".png"),
         picture_file(place_of(i), seen, static_cast<std::uint64_t>(i)));
    save(folder / "GT_Object" / (name_of(i) + ".png"), mask_file(box(place_of(i), 255)));
  }
}

// As `headrace predict` writes them.
void predict_well(const fs::path& folder) {
  for (int i = 0; i < 12; ++i)
    save(folder / (name_of(i) + ".png"), mask_file(box(place_of(i), i % 2 == 0 ? 1 : 255)));
}

struct Said {
  int status = 0;
  std::string text;
};

Said run(const fs::path& folder, const std::string& more = "") {
  const std::string command = std::string(HEADRACE_CAMOUFLAGE_BASELINES) + " --data " +
                              (folder / "Test").string() + " --train " +
                              (folder / "Train").string() + more + " 2>&1";
  Said said;
  std::FILE* out = ::popen(command.c_str(), "r");
  REQUIRE(out != nullptr);
  std::array<char, 4096> part{};
  while (std::fgets(part.data(), static_cast<int>(part.size()), out) != nullptr)
    said.text += part.data();
  const int status = ::pclose(out);
  said.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return said;
}

std::string predictions(const fs::path& folder) {
  return " --predictions " + (folder / "masks").string();
}

bool has(const Said& said, const std::string& part) {
  CAPTURE(said.text);
  return said.text.find(part) != std::string::npos;
}

// The mean IoU in the row that begins with `name`.
double mean_in(const Said& said, const std::string& name) {
  const std::size_t row = said.text.find(name);
  REQUIRE(row != std::string::npos);
  return std::stod(said.text.substr(row + 58));
}

}  // namespace

TEST_CASE("masks that find hidden objects are ahead of all that has learnt nothing") {
  const test::TemporaryFolder folder;
  make_part(folder / "Train", false);
  make_part(folder / "Test", false);
  predict_well(folder / "masks");
  const Said said = run(folder.path(), predictions(folder.path()));
  CHECK(said.status == 0);
  CHECK(has(said, "12 pictures of 3 animals"));
  CHECK(has(said, "margin 0.1: yes"));
  CHECK(mean_in(said, "all of the picture") == .25);
  CHECK(mean_in(said, "constant mask") >= .25);
  CHECK(mean_in(said, "constant mask") < .4);
  CHECK(mean_in(said, "saliency from") < .4);
  CHECK(mean_in(said, "the network ") == 1);
}

TEST_CASE("masks that find what anyone sees are not") {
  const test::TemporaryFolder folder;
  make_part(folder / "Train", false);
  make_part(folder / "Test", true);
  predict_well(folder / "masks");
  const Said said = run(folder.path(), predictions(folder.path()));
  CHECK(said.status == 1);
  CHECK(has(said, "margin 0.1: no"));
  CHECK(has(said, "the best of these: saliency"));
  CHECK(mean_in(said, "saliency from") > .9);
  CHECK(mean_in(said, "saliency above Otsu") > .8);
}

TEST_CASE("the constant mask is found again where objects always lie") {
  const test::TemporaryFolder folder;
  for (const char* part : {"Train", "Test"}) {
    make_part(folder / part, false);
    for (int i = 0; i < 12; ++i)
      save(folder / part / "GT_Object" / (name_of(i) + ".png"), mask_file(box({8, 4}, 255)));
  }
  const Said said = run(folder.path());
  CHECK(said.status == 0);
  CHECK(mean_in(said, "constant mask") == 1);
  CHECK_FALSE(has(said, "margin"));
}

TEST_CASE("what cannot be compared is refused in words") {
  const test::TemporaryFolder folder;
  make_part(folder / "Train", false);
  make_part(folder / "Test", false);
  predict_well(folder / "masks");
  fs::remove(folder / "masks" / (name_of(7) + ".png"));
  Said said = run(folder.path(), predictions(folder.path()));
  CHECK(said.status == 2);
  CHECK(has(said, "there is no predicted mask"));
  CHECK(has(said, name_of(7)));
  const std::vector<std::array<std::uint8_t, 3>> palette(2);
  const std::vector<std::uint8_t> small(6);
  save(folder / "masks" / (name_of(7) + ".png"), encode_palette_png(small.data(), 3, 2, palette));
  said = run(folder.path(), predictions(folder.path()));
  CHECK(has(said, "must be of its picture's size, 32 x 32, got 2 x 3"));
  save(folder / "Test" / "GT_Object" / (name_of(3) + ".png"), mask_file(box({0, 0}, 100)));
  said = run(folder.path());
  CHECK(said.status == 2);
  CHECK(has(said, "must have an object"));
}

TEST_CASE("the animal is the sixth part of a name of COD10K") {
  CHECK(animal_of("COD10K-CAM-1-Aquatic-13-Pipefish-600") == "Pipefish");
  CHECK_THROWS_AS(animal_of("camourflage_00012"), DataError);
  CHECK_THROWS_AS(animal_of("COD10K-CAM-1-Aquatic-13-Pipefish"), DataError);
}

TEST_CASE("every threshold of grey levels marks what a comparison marks") {
  const ObjectMask mask{.height = 2, .width = 3, .pixels = {1, 0, 1, 0, 0, 1}};
  const Levels levels{200, 100, 100, 0, 255, 99};
  const std::array<double, 256> found = iou_at_thresholds(levels, mask);
  for (int threshold = 0; threshold < 256; ++threshold) {
    std::vector<std::uint8_t> marked;
    for (const std::uint8_t level : levels)
      marked.push_back(level >= threshold ? 1 : 0);
    CHECK(found[static_cast<std::size_t>(threshold)] == iou(marked, mask));
  }
  ThresholdAnswers answers;
  answers.add(found);
  CHECK(answers.best_threshold() == 1);  // 3 of 5; the lowest of 1 to 99
  CHECK(answers.ious(1) == std::vector<double>{.6});
}
