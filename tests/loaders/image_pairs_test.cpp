// Which mask belongs to which picture, by their names.
#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_pairs.h>
#include <headrace/loaders/image/mask_suffix.h>
#include <headrace/tests/loaders/file_bytes.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/support/temporary_folder.h>

#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using test::contains;

namespace {

using Suffixes = std::vector<std::string>;

/// Pictures and masks in folders of their own.
struct PairFolders {
  void images(std::initializer_list<const char*> names) const { put("images", names); }
  void masks(std::initializer_list<const char*> names) const { put("masks", names); }
  Suffixes suffixes() const { return find_mask_suffixes(root / "images", root / "masks"); }
  ImagePairsOptions options(const std::string& suffix) const {
    return {.images = root / "images", .masks = root / "masks", .mask_suffix = suffix};
  }
  std::string refusal(const std::string& suffix) const {
    return test::message_of<ConfigError>([&] { ImagePairs opened(options(suffix)); });
  }
  test::TemporaryFolder root;

 private:
  void put(const std::string& folder, std::initializer_list<const char*> names) const {
    for (const char* name : names)
      test::make_file(root / folder / name, name);
  }
};

}  // namespace

TEST_CASE("what masks are called beside their pictures is found, whatever begins what") {
  const PairFolders data;
  data.images({"image1.jpg", "image2.jpg", "image21.jpg", "x/image2.v1.jpg"});
  data.masks({"image1_segmentation.png", "image2_segmentation.png", "image21_segmentation.png",
              "x/image2.v1_segmentation.png"});
  CHECK(data.suffixes() == Suffixes{"_segmentation"});
  const ImagePairs pairs(data.options("_segmentation"));
  REQUIRE(pairs.size() == 4);
  for (std::int64_t i = 0; i < 4; ++i) {
    Sample sample;
    pairs.read(i, sample);
    const Tensor& mask = sample["mask"];
    CHECK(std::string(static_cast<const char*>(mask.raw()), mask.bytes()) ==
          std::filesystem::path(pairs.origin(i)).replace_extension().string() +
              "_segmentation.png");
  }
}

TEST_CASE("names alike need no suffix, and what is no pair has none") {
  const PairFolders alike;
  alike.images({"image1.jpg", "image2.jpg", "image21.jpg"});
  alike.masks({"image1.png", "image2.png", "image21.png"});
  CHECK(alike.suffixes() == Suffixes{""});
  const PairFolders other;
  other.images({"img_1.jpg"});
  other.masks({"mask_1.png"});
  CHECK(other.suffixes().empty());
}

TEST_CASE("of several suffixes those that say what they are count, and two of these are two") {
  const PairFolders data;
  data.images({"a.jpg", "b.jpg"});
  data.masks({"a_superpixels.png", "b_superpixels.png", "a_GT.png", "b_GT.png"});
  CHECK(data.suffixes() == Suffixes{"_GT"});
  data.masks({"a_mask.png", "b_mask.png"});
  CHECK(data.suffixes() == Suffixes{"_GT", "_mask"});
}

TEST_CASE("in one folder only names that say so are masks") {
  const test::TemporaryFolder root;
  for (const char* name : {"a.jpg", "a_mask.png", "b.jpg", "b_mask.png", "c.jpg"})
    test::make_file(root / name, "x");
  CHECK(find_mask_suffixes(root.path(), root.path()) == Suffixes{"_mask"});
  const test::TemporaryFolder pictures;
  for (const char* name : {"a.jpg", "a_1.jpg", "b.jpg", "b_1.jpg", "c.jpg"})
    test::make_file(pictures / name, "x");
  CHECK(find_mask_suffixes(pictures.path(), pictures.path()).empty());
}

TEST_CASE("other files beside masks with a suffix are passed over and counted") {
  const PairFolders data;
  data.images({"a.jpg", "b.jpg"});
  data.masks({"a_gt.png", "b_gt.png", "a_overlay.png"});
  std::string said;
  ImagePairsOptions options = data.options("_gt");
  options.listing.log = [&](LogLevel, std::string_view line) { said += std::string(line) + '\n'; };
  CHECK(ImagePairs(options).size() == 2);
  CHECK(contains(said, "1 of 3 files do not end in \"_gt\" and are passed over"));
}

TEST_CASE("a refusal of pairs names the cause and costs no file") {
  const PairFolders data;
  data.images({"a.jpg", "b.jpg"});
  data.masks({"a_seg.png", "b_seg.png"});
  CHECK(contains(data.refusal(""),
                 "got none among 2 images (a.jpg) and 2 masks (a_seg.png); set mask_suffix to "
                 "\"_seg\""));
  CHECK(contains(data.refusal("_gt"),
                 "that ends in \"_gt\", got none among 2 images (a.jpg) and 2 "
                 "masks (a_seg.png); set mask_suffix to \"_seg\""));

  const PairFolders letters;
  letters.images({"a.jpg", "Last.jpg"});
  letters.masks({"a.png", "last.png"});
  CHECK(contains(letters.refusal(""),
                 "last.png: this mask has no image, Last.jpg has small and capital letters "
                 "otherwise; give both one name, have spare masks passed over (spare_masks), or "
                 "list the pairs in a manifest"));

  const PairFolders prefixes;
  prefixes.images({"img_1.jpg"});
  prefixes.masks({"mask_1.png"});
  CHECK(contains(prefixes.refusal(""),
                 "got none among 1 images (img_1.jpg) and 1 masks (mask_1.png); name the folder "
                 "whose masks are called as the images are, or list the pairs in a manifest"));

  const PairFolders twice;
  twice.images({"3.jpg", "3.png"});
  twice.masks({"3.png"});
  CHECK(contains(twice.refusal(""),
                 "3.png: differs from 3.jpg by its extension only, so that its partner cannot be "
                 "told; give one of them another name, and its partner, or list"));
}
