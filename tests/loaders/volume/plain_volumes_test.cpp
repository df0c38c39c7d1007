// Cases of a folder of images and one of labels, by the names of their files.
#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/plain_volumes.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/support/temporary_folder.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using test::contains;
using test::message_of;

namespace fs = std::filesystem;

namespace {

void touch(const fs::path& file) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << "v";
}

}  // namespace

TEST_CASE("each file that is named as a volume is a case, with the label of its name") {
  const test::TemporaryFolder root;
  for (const char* name : {"b.nii.gz", "a.tif", ".hidden.tif", "notes.txt"})
    touch(root / "train_images" / name);
  touch(root / "train_labels/a.nii");
  const auto found = plain_volumes_in(root.path());
  REQUIRE(found);
  CHECK(labels_beside(found->images) == found->labels);
  const std::vector<NnUNetCase> cases = list_plain_volumes(*found, false);
  REQUIRE(cases.size() == 2);
  CHECK(cases[0].name == "a");
  CHECK(cases[0].images.front() == found->images / "a.tif");
  CHECK(cases[0].label == found->labels / "a.nii");
  CHECK(cases[1].name == "b");
  CHECK(cases[1].label.empty());
  CHECK(contains(message_of<ConfigError>([&] { list_plain_volumes(*found, true); }),
                 "b.nii.gz: an image must have a label of its name in "));
}

TEST_CASE("two files of one case, a folder without volumes and none at all are refused") {
  const test::TemporaryFolder root;
  const auto refused = [&](const char* folder) {
    return message_of<ConfigError>([&] { list_plain_volumes({.images = root / folder}, false); });
  };
  touch(root / "images/a.nii");
  touch(root / "images/a.nii.gz");
  CHECK(contains(refused("images"), "each case must have one file, got \"a.nii"));
  touch(root / "empty/notes.txt");
  CHECK(contains(refused("empty"), "must hold volumes, NAME.tif say, has none"));
  CHECK(contains(refused("nowhere"), "nowhere"));
  CHECK_FALSE(plain_volumes_in(root.path()));
}
