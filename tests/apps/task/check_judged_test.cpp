// Files of validation and test are looked at before the first step.
#include <headrace/apps/run/data_log.h>
#include <headrace/apps/task/channel_statistics.h>
#include <headrace/apps/task/check_judged.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/loaders/image_files.h>
#include <headrace/tests/loaders/npy_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using app::FileCheck;
using test::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

test::Bytes judged_jpeg(unsigned seed) {
  return test::encode_jpeg({.width = 96, .height = 80}, test::picture(96, 80, 3, seed));
}

test::Bytes judged_png(unsigned seed) {
  return test::encode_png({.width = 60, .height = 40, .colour = PNG_COLOR_TYPE_RGB},
                          test::picture(60, 40, 3, seed), 180);
}

test::Bytes cut_off(test::Bytes file) {
  file.resize(file.size() * 2 / 3);
  return file;
}

/// Parts of two classes, of which each has three JPEG and three PNG files an hour old.
struct JudgedPictures {
  TemporaryFolder root{};
  app::TaskData data{};
  std::string said{};

  JudgedPictures() {
    unsigned seed = 0;
    for (const char* part : {"train", "validation", "test"})
      for (const char* name : {"cat", "dog"})
        for (int i = 0; i < 3; ++i) {
          const std::string file = std::string(part) + '/' + name + '/' + std::to_string(i);
          put(file + ".jpg", judged_jpeg(++seed));
          put(file + ".png", judged_png(++seed));
        }
    data.train.folder = root / "train";
    data.validation.folder = root / "validation";
    data.test.folder = root / "test";
    data.listings = root / "listings";
    data.duplicates.rule = app::Duplicates::allow;
  }

  void put(const std::string& file, const test::Bytes& bytes, int hours = 1) const {
    test::write_bytes(root / file, bytes);
    fs::last_write_time(root / file, fs::file_time_type::clock::now() - std::chrono::hours(hours));
  }

  /// The refusal, or nothing; what is said beside it is in `said`.
  std::string look(app::JudgedCheck check = {}) {
    if (check.decode.check == FileCheck::none) check.decode.check = FileCheck::quick;
    said.clear();
    const app::TaskRecords records = app::open_records(data, false, 3);
    const app::DataLogGuard guard([this](LogLevel, std::string_view line) { said += line; });
    try {
      app::check_judged(records, check);
    } catch (const DataError& error) {
      return error.what();
    }
    return {};
  }
};

bool require_words(const std::string& text, const std::string& part) {
  CAPTURE(text);
  CHECK(text.find(part) != std::string::npos);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a file to judge that is cut off is refused before the first step, by name") {
  for (const bool is_jpeg : {true, false}) {
    CAPTURE(is_jpeg);
    JudgedPictures pictures;
    CHECK(pictures.look().empty());
    CHECK(pictures.said.empty());
    const std::string name = is_jpeg ? "dog/2.jpg" : "dog/2.png";
    const test::Bytes torn = cut_off(is_jpeg ? judged_jpeg(50) : judged_png(50));
    pictures.put("train/" + name, torn);
    CHECK(pictures.look().empty());  // by its own rule, while the run reads it
    pictures.put("test/" + name, torn);
    pictures.put("validation/cat/1.jpg", cut_off(judged_jpeg(51)));
    const std::string refused = pictures.look();
    require_words(
        refused,
        "[data] 2 of the 24 records of validation and test that were looked at cannot be read, "
        "the first of the validation: cat/1.jpg: ");
    require_words(refused, "or set data.bad_samples.rule: replace");
    pictures.put("validation/cat/1.jpg", judged_jpeg(51));
    require_words(pictures.look(), "the first of the test: " + name + ": ");
    CHECK(pictures.look({.must_be_sound = false}).empty());
    require_words(pictures.said, "1 of the 24 records of validation and test");
    require_words(pictures.said, "figures are of the others");
    app::JudgedCheck off{.decode = {.check = FileCheck::none}};
    app::check_judged(app::open_records(pictures.data, false, 3), off);
  }
}

TEST_CASE(
    "a part of which nothing can be read is refused under every rule, but of a run that goes on") {
  JudgedPictures pictures;
  for (const char* name : {"cat", "dog"})
    for (const fs::directory_entry& file : fs::directory_iterator(pictures.root / "test" / name))
      fs::resize_file(file, 40);
  require_words(pictures.look({.must_be_sound = false}),
                "[data] records of the test must be such as can be read, none can, ");
  CHECK(pictures.look({.must_be_sound = false, .may_be_gone = true}).empty());
}

TEST_CASE("only what the decoder refuses is refused") {
  JudgedPictures pictures;
  test::Bytes odd = judged_jpeg(60);
  odd.insert(odd.end(), 900, std::byte{0});  // as cameras and editors leave behind it
  pictures.put("test/dog/0.jpg", odd);
  test::Bytes behind = judged_png(61);
  behind.push_back(std::byte{'\n'});
  pictures.put("validation/cat/0.png", behind);
  CHECK(pictures.look().empty());
}

TEST_CASE("damage between sound ends is found where everything is decoded") {
  JudgedPictures pictures;
  test::Bytes torn = judged_png(70);
  std::fill_n(torn.begin() + static_cast<std::ptrdiff_t>(torn.size() / 2), 64, std::byte{0x55});
  pictures.put("test/dog/1.png", torn);
  CHECK(pictures.look().empty());
  require_words(pictures.look({.decode = {.check = FileCheck::decode}}), "test: dog/1.png: ");
}

TEST_CASE("a look that is out of time says how far it came, and refuses nothing that it saw not") {
  JudgedPictures pictures;
  pictures.put("test/dog/1.png", cut_off(judged_png(80)));
  const auto none = std::chrono::nanoseconds(0);
  CHECK(pictures.look({.most = none}).empty());
  require_words(pictures.said,
                "[data] 0 of the 24 records of validation and test were looked at in the time that "
                "data.check: quick has; decode looks at all of them");
  CHECK_FALSE(pictures.look({.decode = {.check = FileCheck::decode}, .most = none}).empty());
}

TEST_CASE("sound files are not read again as long as size and time are the same") {
  JudgedPictures pictures;
  const app::JudgedCheck kept{.listings = pictures.data.listings};
  CHECK(pictures.look(kept).empty());
  const fs::path file = pictures.root / "test/dog/1.png";
  const auto time = fs::last_write_time(file);
  const auto bytes = static_cast<std::size_t>(fs::file_size(file));
  test::write_bytes(file, test::Bytes(bytes, std::byte{7}));
  fs::last_write_time(file, time);
  CHECK(pictures.look(kept).empty());
  CHECK_FALSE(pictures.look().empty());  // its twin, which keeps nothing
  CHECK_FALSE(pictures.look({.decode = {.check = FileCheck::decode}, .listings = kept.listings})
                  .empty());  // which was not done before
  fs::last_write_time(file, time + std::chrono::seconds(2));
  require_words(pictures.look(kept), "test: dog/1.png: ");
  pictures.put("test/dog/1.png", judged_png(90), 2);  // repaired in place
  CHECK(pictures.look(kept).empty());
}

TEST_CASE("pictures of 12 bits in 16 are said, kept or not") {
  JudgedPictures pictures;
  CHECK(pictures.look().empty());
  CHECK(pictures.said.empty());
  for (const int most : {4095, 65535}) {
    std::vector<std::uint8_t> rows;
    for (int i = 0; i < 40 * 60; ++i) {
      const int value = i % most;
      rows.insert(rows.end(),
                  {static_cast<std::uint8_t>(value >> 8), static_cast<std::uint8_t>(value & 255)});
    }
    rows[0] = static_cast<std::uint8_t>(most >> 8);
    pictures.put(
        "test/dog/" + std::to_string(most) + ".png",
        test::encode_png({.width = 60, .height = 40, .bits = 16, .colour = PNG_COLOR_TYPE_GRAY},
                         rows, 120));
  }
  for (int start = 0; start < 2; ++start) {
    CHECK(pictures.look({.listings = pictures.data.listings}).empty());
    require_words(pictures.said, "[data] 1 pictures of validation and test have 12 bits in 16");
  }
}

TEST_CASE("arrays with files of their own are looked at, too: those that are not finite") {
  const TemporaryFolder root;
  std::vector<float> values{1, 2, 3, 4};
  for (const std::string part : {"train", "test"})
    for (const std::string name : {"cat", "dog"})
      for (int i = 0; i < 12; ++i) {
        fs::create_directories(root / part / name);
        test::write_array<float>(root / part / name / (std::to_string(i) + ".npy"), "4,", values);
      }
  app::TaskData data;
  data.train = {.source = app::RecordsIn::npy, .folder = root / "train"};
  data.test = {.source = app::RecordsIn::npy, .folder = root / "test"};
  data.listings.clear();
  data.duplicates.rule = app::Duplicates::allow;
  const app::JudgedCheck quick{.decode = {.check = FileCheck::quick}};
  app::check_judged(app::open_records(data, false, 3), quick);
  values[2] = std::numeric_limits<float>::quiet_NaN();
  test::write_array<float>(root / "test/dog/1.npy", "4,", values);
  CHECK_THROWS_WITH_AS(app::check_judged(app::open_records(data, false, 3), quick),
                       doctest::Contains("the first of the test: dog/1.npy: "), DataError);
}

TEST_CASE("mean and deviation leave out what a training leaves out") {
  JudgedPictures pictures;
  pictures.put("train/cat/1.png", cut_off(judged_png(5)));
  const app::TaskRecords records = app::open_records(pictures.data, false, 3);
  const auto& source = records.train.source;
  const std::vector<std::int64_t> all = app::all_rows(*source);
  std::vector<std::int64_t> sound;
  std::ranges::copy_if(all, std::back_inserter(sound),
                       [&](std::int64_t row) { return source->origin(row) != "cat/1.png"; });
  REQUIRE(sound.size() + 1 == all.size());
  const app::ImageSettings image{.decode = {.side = 16}};
  CHECK_THROWS_WITH_AS(app::statistics_of(source, all, image),
                       doctest::Contains("set data.bad_samples.rule: replace"), DataError);
  const app::BadSampleSettings others{.rule = BadSamples::Rule::replace};
  CHECK(app::statistics_of(source, all, image, others).mean ==
        app::statistics_of(source, sound, image).mean);
}
