#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_files.h>
#include <headrace/tests/loaders/file_bytes.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/support/temporary_folder.h>

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

using namespace headrace;
namespace fs = std::filesystem;

namespace {

std::string files_refusal(const fs::path& path) {
  return test::message_of<ConfigError>([&] { ImageFiles files(path); });
}

}  // namespace

TEST_CASE("images at any depth are listed by path, and nothing is known of them") {
  test::TemporaryFolder root;
  test::make_file(root / "b.png", "bb");
  test::make_file(root / "a/deep/z.JPG", "zzz");
  test::make_file(root / "a/notes.txt", "no");
  test::make_file(root / ".hidden.png", "no");
  const ImageFiles files(root / "");
  REQUIRE(files.size() == 2);
  CHECK(files.path(0) == "a/deep/z.JPG");
  CHECK(files.path(1) == "b.png");
  CHECK(files.image_bytes(0) == 3);
  CHECK(files.classes().empty());
  CHECK(files.labels().empty());
  CHECK(files.fields().size() == 1);
  Sample sample;
  files.read(1, sample);
  CHECK(sample["image"].bytes() == 2);
}

TEST_CASE("one image is a data set of its own") {
  test::TemporaryFolder root;
  test::make_file(root / "a.png", "aa");
  test::make_file(root / "b.png", "b");
  const ImageFiles files(root / "a.png");
  REQUIRE(files.size() == 1);
  CHECK(files.origin(0) == "a.png");
}

TEST_CASE("what holds no image is refused by its name") {
  test::TemporaryFolder root;
  test::make_file(root / "only/notes.txt", "no");
  CHECK(files_refusal(root / "only").find("must hold an image, got none") != std::string::npos);
  CHECK(files_refusal(root / "only/notes.txt").find("notes.txt") != std::string::npos);
  CHECK(files_refusal(root / "gone").find("gone") != std::string::npos);
  fs::create_symlink("/etc", root / "only/away");
  CHECK(files_refusal(root / "only").find("away") != std::string::npos);
}
