#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_folder.h>
#include <headrace/loaders/listing/split_folders.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/support/temporary_folder.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using test::contains;
namespace fs = std::filesystem;

namespace {

using Names = std::vector<std::string>;

struct SplitFolder {
  void add(const std::string& name) const {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name) << name;
  }
  std::string refusal() const {
    return test::message_of<ConfigError>([this] { split_folders(root.path()); });
  }
  test::TemporaryFolder root;
};

}  // namespace

TEST_CASE("folders of splits are found under their usual names and share their classes") {
  const SplitFolder data;
  for (const char* part : {"Training", "val", "test"}) {
    for (const char* name : {"/dog/1.jpg", "/cat/2.jpg"})
      data.add(std::string(part) + name);
  }
  data.add("readme.txt");
  const auto splits = split_folders(data.root.path());
  REQUIRE(splits);
  CHECK(splits->train.filename() == "Training");
  CHECK(splits->validation.filename() == "val");
  CHECK(splits->test.filename() == "test");
  CHECK(splits->classes == Names{"cat", "dog"});
  for (const fs::path& part : {splits->train, splits->validation, splits->test})
    CHECK(ImageFolder(part, {.classes = splits->classes}).labels() ==
          std::vector<std::int64_t>{0, 1});
}

TEST_CASE("class folders are no splits, even if one is called train") {
  const SplitFolder data;
  data.add("car/1.jpg");
  CHECK_FALSE(split_folders(data.root.path()));
  data.add("train/2.jpg");
  CHECK_FALSE(split_folders(data.root.path()));
}

TEST_CASE("parts that do not fit together are refused") {
  const SplitFolder data;
  data.add("train/cat/1.jpg");
  data.add("train/dog/1.jpg");
  data.add("validation/cat/1.jpg");
  data.add("validation/bird/1.jpg");
  CHECK(contains(data.refusal(),
                 "validation: must hold the folders that train holds, lacks \"dog\", has besides "
                 "\"bird\""));
  fs::rename(data.root / "validation/bird", data.root / "validation/dog");
  CHECK(data.refusal().empty());
  data.add("extra/cat/1.jpg");
  CHECK(contains(data.refusal(), "extra: folders beside train must be called validation or test"));
  fs::remove_all(data.root / "extra");
  data.add("val/cat/1.jpg");
  CHECK(contains(data.refusal(), "must be the only folder of its split, is one beside val"));
  CHECK(contains(test::message_of<ConfigError>([&] { split_folders(data.root / "nowhere"); }),
                 "must be a folder"));
}

TEST_CASE("links of split folders may not leave the data") {
  const SplitFolder data;
  data.add("data/train/cat/1.jpg");
  data.add("else/cat/1.jpg");
  fs::create_directory_symlink("../else", data.root / "data/test");
  CHECK(contains(test::message_of<ConfigError>([&] { split_folders(data.root / "data"); }),
                 "link leaves the folder"));
  CHECK(split_folders(data.root / "data", true)->test.filename() == "test");
}

TEST_CASE("class names that are given fix the labels of folders") {
  const SplitFolder data;
  data.add("cat/1.jpg");
  data.add("dog/1.jpg");
  const ImageFolder folder(data.root.path(), {.classes = {"dog", "bird", "cat"}});
  CHECK(folder.classes() == Names{"dog", "bird", "cat"});
  CHECK(folder.labels() == std::vector<std::int64_t>{2, 0});
  CHECK(contains(test::message_of<ConfigError>([&] {
                   ImageFolder(data.root.path(), {.classes = {"cat", "dogs"}});
                 }),
                 "dog: must be one of the 2 classes; did you mean \"dogs\"?"));
}
