#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_folder.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

using namespace headrace;
namespace fs = std::filesystem;

namespace {

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string refusal(const fs::path& root) {
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

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("classes and files are sorted by name, at any depth, by extension in any case") {
  test::TemporaryFolder root;
  write(root / "dog/b.JPG", "bbb");
  write(root / "dog/a.png", "a");
  write(root / "cat/deep/er/z.tiff", "zz");
  write(root / "cat/notes.txt", "no");
  write(root / "cat/.hidden.jpg", "no");
  write(root / "cat/a.webp", "cccc");
  write(root / "readme.md", "no");
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
  CHECK(mentions(refusal(root / "nowhere"), "must be a folder"));
  fs::create_directories(root / "empty");
  CHECK(mentions(refusal(root / "empty"), "must hold one folder per class"));
  write(root / "some/cat/a.jpg", "a");
  write(root / "some/dog/a.txt", "a");
  CHECK(mentions(refusal(root / "some"), "dog: class folder must hold an image"));
}

TEST_CASE("links may lead to files inside the folder and nowhere else") {
  test::TemporaryFolder root;
  write(root / "secret.jpg", "secret");
  write(root / "data/cat/a.jpg", "a");
  fs::create_symlink("a.jpg", root / "data/cat/b.jpg");
  CHECK(ImageFolder(root / "data").size() == 2);
  fs::create_symlink("../../secret.jpg", root / "data/cat/c.jpg");
  CHECK(mentions(refusal(root / "data"), "link leaves the folder"));
  fs::remove(root / "data/cat/c.jpg");
  fs::create_symlink("nothing.jpg", root / "data/cat/d.jpg");
  CHECK(mentions(refusal(root / "data"), "link leads nowhere"));
  fs::remove(root / "data/cat/d.jpg");
  fs::create_directory_symlink("cat", root / "data/dog");
  CHECK(mentions(refusal(root / "data"), "link to a folder is not followed"));
}

TEST_CASE("files that vanish or change their length are named") {
  test::TemporaryFolder root;
  write(root / "cat/a.jpg", "aaaa");
  write(root / "cat/b.jpg", "bbbb");
  write(root / "cat/c.jpg", "cccc");
  write(root / "cat/d.jpg", "");
  const ImageFolder folder(root / "");
  fs::remove(root / "cat/a.jpg");
  CHECK(mentions(failure(folder, 0), "file cat/a.jpg: cannot be opened: No such file"));
  fs::resize_file(root / "cat/b.jpg", 2);
  CHECK(
      mentions(failure(folder, 1), "file cat/b.jpg: must be 4 bytes as when it was listed, got 2"));
  write(root / "cat/c.jpg", "cccccc");
  CHECK(mentions(failure(folder, 2), "got 6"));
  CHECK(mentions(failure(folder, 3), "is empty"));
}

TEST_CASE("control characters of file names are escaped in messages") {
  test::TemporaryFolder root;
  write(root / "cat/a\x1b[2J\n.jpg", "a");
  CHECK(ImageFolder(root / "").origin(0) == "cat/a\\x1b[2J\\x0a.jpg");
}
