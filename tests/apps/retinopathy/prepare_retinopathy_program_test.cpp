#include <headrace/engine/base/internal/folder_lock.h>
#include <headrace/loaders/idx/idx_file.h>
#include <headrace/loaders/image/decode_image.h>
#include <headrace/loaders/image/image_folder.h>
#include <headrace/tests/apps/started_program.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/skip.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using headrace::test::contains;
using headrace::test::Finished;
using headrace::test::run_headrace;
using headrace::test::TemporaryFolder;

namespace fs = std::filesystem;

const fs::path data_set = "/usr/share/datasets/fashion-mnist";
const std::array<std::string, 5> classes{"0_tshirt", "1_pullover", "2_dress", "3_coat", "4_shirt"};

Finished prepare(const TemporaryFolder& folder, const std::vector<std::string>& more = {},
                 const std::string& side = "32") {
  std::vector<std::string> words{"prepare", "retinopathy", "--output",     "out/data",
                                 "--limit", "120",         "--validation", "7",
                                 "--test",  "9",           "--side",       side};
  words.insert(words.end(), more.begin(), more.end());
  return run_headrace(folder.path(), words);
}

/// Every file below the folder and its bytes.
std::map<std::string, std::string> files_of(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      files[entry.path().lexically_relative(folder)] = headrace::test::content_of(entry.path());
  return files;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("prepare retinopathy writes JPEG folders in EyePACS's imbalance, and keeps them") {
  if (!fs::exists(data_set)) return headrace::test::skip("needs dataset-fashion-mnist");
  const TemporaryFolder folder;
  const Finished first = prepare(folder);
  REQUIRE_MESSAGE(first.status == 0, first.err);
  const fs::path made = folder.path() / "out/data";
  const std::array<std::size_t, 5> training{120, 11, 25, 4, 3};
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const std::vector<std::string> train = names_in(made / "train" / classes[i]);
    const std::vector<std::string> validation = names_in(made / "val" / classes[i]);
    CHECK(train.size() == training[i]);
    CHECK(validation.size() == 7);
    CHECK(names_in(made / "test" / classes[i]).size() == 9);
    std::set<std::string> both(train.begin(), train.end());
    both.insert(validation.begin(), validation.end());
    CHECK(both.size() == train.size() + validation.size());
  }
  CHECK(names_in(folder.path() / "out") == std::vector<std::string>{"data"});
  const auto written = fs::last_write_time(made / "recipe.txt");
  const Finished again = prepare(folder, {"--threads", "1"});
  CHECK(again.status == 0);
  CHECK(contains(again.err, "kept"));
  CHECK(fs::last_write_time(made / "recipe.txt") == written);
}

TEST_CASE("its pictures are those of Fashion-MNIST, in the folder of their class") {
  if (!fs::exists(data_set)) return headrace::test::skip("needs dataset-fashion-mnist");
  const TemporaryFolder folder;
  REQUIRE(prepare(folder, {"--quality", "100"}, "28").status == 0);
  const std::array<int, 5> labels{0, 2, 3, 4, 6};
  const auto compare = [&](const char* part, const char* idx) {
    const headrace::ImageFolder made(folder.path() / "out/data" / part);
    REQUIRE(made.classes() == std::vector<std::string>(classes.begin(), classes.end()));
    const std::string stem = (data_set / idx).string();
    const headrace::Tensor images = headrace::read_idx(stem + "-images-idx3-ubyte.gz");
    const headrace::Tensor numbers = headrace::read_idx(stem + "-labels-idx1-ubyte.gz");
    const headrace::DecodeImage decode{.crop = headrace::ResizeTo{28, 28}};
    for (std::int64_t i = 0; i < made.size(); i += 5) {
      headrace::Sample sample;
      made.read(i, sample);
      const auto row =
          static_cast<std::int64_t>(std::stoi(fs::path(made.origin(i)).stem().string()));
      CHECK(numbers.values<std::uint8_t>()[static_cast<std::size_t>(row)] ==
            labels[static_cast<std::size_t>(sample["label"].item<std::int64_t>())]);
      headrace::Random none;
      decode(sample, none);
      const auto got = sample["image"].values<std::uint8_t>();
      const auto original = images.row(row).values<std::uint8_t>();
      int most = 0;
      for (std::size_t k = 0; k < got.size(); ++k)
        most = std::max(most, std::abs(got[k] - original[k / 3]));
      CHECK(most <= 3);
    }
  };
  compare("train", "train");
  compare("val", "train");
  compare("test", "t10k");
}

TEST_CASE("the same options give the same bytes on 1 and 3 threads, other options others") {
  if (!fs::exists(data_set)) return headrace::test::skip("needs dataset-fashion-mnist");
  const TemporaryFolder one;
  const TemporaryFolder three;
  REQUIRE(prepare(one, {"--threads", "1"}).status == 0);
  REQUIRE(prepare(three, {"--threads", "3"}).status == 0);
  const auto files = files_of(one.path() / "out/data");
  CHECK(files == files_of(three.path() / "out/data"));
  REQUIRE(prepare(one, {}, "40").status == 0);
  const auto larger = files_of(one.path() / "out/data");
  CHECK(larger.size() == files.size());
  CHECK(larger.at("test/2_dress/" + names_in(one.path() / "out/data/test/2_dress").front()) !=
        files.at("test/2_dress/" + names_in(one.path() / "out/data/test/2_dress").front()));
}

TEST_CASE("what is damaged or not finished is made anew, and nobody else's folder is touched") {
  if (!fs::exists(data_set)) return headrace::test::skip("needs dataset-fashion-mnist");
  const TemporaryFolder folder;
  REQUIRE(prepare(folder).status == 0);
  const fs::path made = folder.path() / "out/data";
  const auto whole = files_of(made);
  fs::resize_file(made / whole.begin()->first, 1);
  fs::remove(made / "train/4_shirt" / names_in(made / "train/4_shirt").front());
  fs::create_directories(folder.path() / "out/data.unfinished/train");
  std::ofstream(folder.path() / "out/data.unfinished/recipe.txt")
      << "retinopathy 1: not finished\n";
  REQUIRE(prepare(folder).status == 0);
  CHECK(files_of(made) == whole);
  CHECK(names_in(folder.path() / "out") == std::vector<std::string>{"data"});
  const fs::path other = folder.path() / "other";
  fs::create_directories(other);
  std::ofstream(other / "thesis.txt") << "mine";
  const Finished refused =
      run_headrace(folder.path(), {"prepare", "retinopathy", "--output", "other/"});
  CHECK(refused.status == 2);
  CHECK(contains(refused.err, "name another folder"));
  CHECK(names_in(other) == std::vector<std::string>{"thesis.txt"});
}

TEST_CASE("what a person has put into a prepared folder is not removed with it") {
  if (!fs::exists(data_set)) return headrace::test::skip("needs dataset-fashion-mnist");
  const TemporaryFolder folder;
  REQUIRE(prepare(folder).status == 0);
  const fs::path made = folder.path() / "out/data";
  fs::create_directories(made / "eyepacs");
  fs::remove(made / "test/2_dress" / names_in(made / "test/2_dress").front());
  const Finished refused = prepare(folder);
  CHECK(refused.status == 2);
  CHECK(contains(refused.err, "hold nothing else"));
  CHECK(fs::exists(made / "eyepacs"));
}

TEST_CASE("two programs do not prepare one folder at once") {
  if (!fs::exists(data_set)) return headrace::test::skip("needs dataset-fashion-mnist");
  const TemporaryFolder folder;
  const fs::path work = folder.path() / "out/data.unfinished";
  fs::create_directories(work);
  {
    const headrace::FolderLock other(work);
    const Finished refused = prepare(folder);
    CHECK(refused.status == 2);
    CHECK(contains(refused.err, "one program at a time"));
    CHECK(fs::is_empty(work));
  }
  CHECK(prepare(folder).status == 0);
}
