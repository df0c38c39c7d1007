#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_folder.h>
#include <headrace/loaders/listing/internal/class_folders.h>
#include <headrace/tests/loaders/file_bytes.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/support/no_more_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

using namespace headrace;
using test::contains;
namespace fs = std::filesystem;

namespace {

std::string folder_refusal(const fs::path& root) {
  try {
    ImageFolder folder(root);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

std::string failure(const ImageFolder& folder, std::int64_t index) {
  Sample sample;
  try {
    folder.read(index, sample);
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("classes and files are sorted by name, at any depth, by extension in any case") {
  test::TemporaryFolder root;
  test::make_file(root / "dog/b.JPG", "bbb");
  test::make_file(root / "dog/a.png", "a");
  test::make_file(root / "cat/deep/er/z.tiff", "zz");
  test::make_file(root / "cat/notes.txt", "no");
  test::make_file(root / "cat/.hidden.jpg", "no");
  test::make_file(root / "cat/a.webp", "cccc");
  test::make_file(root / "readme.md", "no");
  const ImageFolder folder(root / "");
  CHECK(folder.classes() == std::vector<std::string>{"cat", "dog"});
  CHECK(folder.size() == 4);
  CHECK(folder.labels() == std::vector<std::int64_t>{0, 0, 1, 1});
  const char* paths[] = {"cat/a.webp", "cat/deep/er/z.tiff", "dog/a.png", "dog/b.JPG"};
  const char* contents[] = {"cccc", "zz", "a", "bbb"};
  Sample sample;
  for (int i = 0; i < 4; ++i) {
    CHECK(folder.origin(i) == paths[i]);
    folder.read(i, sample);
    const Tensor& image = sample["image"];
    CHECK(std::string(static_cast<const char*>(image.raw()), image.bytes()) == contents[i]);
    CHECK(sample["label"].item<std::int64_t>() == folder.label(i));
    CHECK(folder.working_bytes(i) >= image.bytes());
  }
  CHECK(folder.fields().at("image") == FieldSpec::ragged("image", DType::uint8, 4));
  CHECK(folder.largest_working_bytes() == folder.working_bytes(0));
  CHECK(folder.blocking());
}

TEST_CASE("folders without classes or without images are refused") {
  test::TemporaryFolder root;
  CHECK(contains(folder_refusal(root / "nowhere"), "must be a folder"));
  fs::create_directories(root / "empty");
  CHECK(contains(folder_refusal(root / "empty"), "must hold one folder per class"));
  test::make_file(root / "some/cat/a.jpg", "a");
  test::make_file(root / "some/dog/a.txt", "a");
  CHECK(contains(folder_refusal(root / "some"), "dog: class folder must hold an image"));
}

TEST_CASE("links may lead to files inside the folder and nowhere else") {
  test::TemporaryFolder root;
  test::make_file(root / "secret.jpg", "secret");
  test::make_file(root / "data/cat/a.jpg", "a");
  fs::create_symlink("a.jpg", root / "data/cat/b.jpg");
  CHECK(ImageFolder(root / "data").size() == 2);
  fs::create_symlink("../../secret.jpg", root / "data/cat/c.jpg");
  CHECK(contains(folder_refusal(root / "data"), "link leaves the folder"));
  fs::remove(root / "data/cat/c.jpg");
  fs::create_symlink("nothing.jpg", root / "data/cat/d.jpg");
  CHECK(contains(folder_refusal(root / "data"), "link leads nowhere"));
  fs::remove(root / "data/cat/d.jpg");
  fs::create_directory_symlink("..", root / "data/cat/up");
  CHECK(
      contains(folder_refusal(root / "data"), "link leads back to a folder that it is in; remove"));
  fs::remove(root / "data/cat/up");
  fs::create_directory_symlink("cat", root / "data/dog");
  CHECK(contains(folder_refusal(root / "data"), "link to a folder is not followed"));
}

TEST_CASE("links are followed where that is asked for, and never in a circle") {
  test::TemporaryFolder root;
  test::make_file(root / "store/one/a.jpg", "a");
  test::make_file(root / "store/two/b.jpg", "bb");
  fs::create_directories(root / "data/cat");
  fs::create_symlink("../../store/one/a.jpg", root / "data/cat/x.jpg");
  fs::create_directory_symlink("../store/two", root / "data/dog");
  CHECK(contains(folder_refusal(root / "data"), "follow_links"));
  for (const char* folder : {"data", "data/cat", "store/two"})
    fs::last_write_time(root / folder, fs::file_time_type::clock::now() - std::chrono::hours(1));
  const ImageFolderOptions followed{.listing = {.cache = root / "kept", .follow_links = true}};
  const ImageFolder images(root / "data", followed);
  REQUIRE(images.size() == 2);
  CHECK(images.classes() == std::vector<std::string>{"cat", "dog"});
  CHECK(images.origin(1) == "dog/b.jpg");
  CHECK(images.image_bytes(1) == 2);
  REQUIRE(fs::exists(root / "kept"));  // and is not taken where links are not followed
  CHECK(contains(test::message_of<ConfigError>(
                     [&] { ImageFolder(root / "data", {.listing = {.cache = root / "kept"}}); }),
                 "link leaves the folder"));

  const auto circle = [&] {
    return test::message_of<ConfigError>([&] { ImageFolder(root / "data", followed); });
  };
  for (const char* to : {"..", ".", "../../data", ""}) {
    CAPTURE(to);
    const fs::path link = root / "store/two/back";
    fs::create_directory_symlink(*to == '\0' ? root / "data/dog" : fs::path(to), link);
    CHECK(contains(circle(), "link leads back to a folder that it is in"));
    fs::remove(link);
  }
  fs::create_symlink("gone.jpg", root / "data/cat/broken.jpg");
  CHECK(contains(circle(), "link leads nowhere"));
}

TEST_CASE("files that vanish or change their length are named") {
  test::TemporaryFolder root;
  test::make_file(root / "cat/a.jpg", "aaaa");
  test::make_file(root / "cat/b.jpg", "bbbb");
  test::make_file(root / "cat/c.jpg", "cccc");
  test::make_file(root / "cat/d.jpg", "");
  const ImageFolder folder(root / "");
  fs::remove(root / "cat/a.jpg");
  CHECK(contains(failure(folder, 0), "file cat/a.jpg: cannot be opened: No such file"));
  fs::resize_file(root / "cat/b.jpg", 2);
  CHECK(
      contains(failure(folder, 1), "file cat/b.jpg: must be 4 bytes as when it was listed, got 2"));
  test::make_file(root / "cat/c.jpg", "cccccc");
  CHECK(contains(failure(folder, 2), "got 6"));
  CHECK(contains(failure(folder, 3), "is empty"));
}

TEST_CASE("control characters of file names are escaped in messages") {
  test::TemporaryFolder root;
  test::make_file(root / "cat/a\x1b[2J\n.jpg", "a");
  CHECK(ImageFolder(root / "").origin(0) == "cat/a\\x1b[2J\\x0a.jpg");
}

TEST_CASE("a folder that cannot be listed for lack of descriptors is no fault of the data") {
  const test::TemporaryFolder root;
  test::make_file(root / "cat/a.jpg", "a");
  const detail::FileSearch search{.root = root.path().native(),
                                  .who = "image folder",
                                  .what = "an image",
                                  .is_wanted = [](std::string_view) { return true; }};
  {
    const test::NoMoreFiles limit;
    CHECK_THROWS_WITH_AS(detail::list_files(search, "cat"),
                         doctest::Contains("cat: cannot be listed"), ResourceError);
  }
  CHECK(detail::list_files(search, "cat").size() == 1);
}
