#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_manifest.h>
#include <headrace/loaders/image/image_pairs.h>
#include <headrace/tests/loaders/file_bytes.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using test::contains;
namespace fs = std::filesystem;

namespace {

std::string field_of(const Source& source, std::int64_t index, const char* field) {
  Sample sample;
  source.read(index, sample);
  const Tensor& tensor = sample[field];
  return {static_cast<const char*>(tensor.raw()), tensor.bytes()};
}

/// A folder with images a.jpg, b/c.jpg and a manifest beside them.
struct ManifestFolder {
  ManifestFolder() {
    test::make_file(root / "a.jpg", "aaa");
    test::make_file(root / "b/c.jpg", "cc");
    test::make_file(root / "m/a.png", "m");
    test::make_file(root / "m/c.png", "mm");
  }
  ImageManifest read(const std::string& name, const std::string& text) const {
    test::make_file(root / name, text);
    return ImageManifest(root / name);
  }
  std::string refusal(const std::string& name, const std::string& text) const {
    return test::message_of<ConfigError>([&] { read(name, text); });
  }
  test::TemporaryFolder root;
};

}  // namespace

TEST_CASE("a manifest gives images in its order with labels, masks, weights and groups") {
  const ManifestFolder data;
  const std::string csv =
      "label,image,mask,weight,group,notes\n"
      "dog,b/c.jpg,m/c.png,2.5,p2,x\n"
      "cat,a.jpg,m/a.png,0,p1,\n"
      "dog,a.jpg,m/a.png,1e-1,p2,\n";
  const std::string jsonl =
      R"({"label": "dog", "image": "b/c.jpg", "mask": "m/c.png", "weight": 2.5, "group": "p2"})"
      "\n\n"
      R"({"image": "a.jpg", "label": "cat", "mask": "m/a.png", "weight": 0, "group": "p1", "n": [1]})"
      "\r\n"
      R"({"image": "a.jpg", "label": "dog", "mask": "m/a.png", "weight": 0.1, "group": "p2"})";
  for (const auto& [name, text] : {std::pair{"m.csv", csv}, std::pair{"m.jsonl", jsonl}}) {
    CAPTURE(std::string(name));
    const ImageManifest manifest = data.read(name, text);
    REQUIRE(manifest.size() == 3);
    CHECK(manifest.classes() == std::vector<std::string>{"cat", "dog"});
    CHECK(manifest.labels() == std::vector<std::int64_t>{1, 0, 1});
    CHECK(manifest.weights() == std::vector<double>{2.5, 0, double(0.1F)});
    CHECK(manifest.groups() == std::vector<std::int64_t>{1, 0, 1});
    CHECK(manifest.group_names() == std::vector<std::string>{"p1", "p2"});
    CHECK(field_of(manifest, 0, "image") == "cc");
    CHECK(field_of(manifest, 0, "mask") == "mm");
    CHECK(field_of(manifest, 1, "image") == "aaa");
    CHECK(manifest.origin(0) == "b/c.jpg");
    const Schema fields = manifest.fields();
    CHECK(fields.at("image") == FieldSpec::ragged("image", DType::uint8, 3));
    CHECK(fields.at("mask") == FieldSpec::ragged("mask", DType::uint8, 2));
    CHECK(fields.at("weight") == FieldSpec::fixed("weight", DType::float32, Shape{}));
    Sample now;
    if (manifest.read_now(0, now)) {
      CHECK(now["label"].item<std::int64_t>() == 1);
      CHECK(now["weight"].item<float>() == 2.5F);
    }
  }
}

TEST_CASE("labels that are whole numbers are themselves") {
  const ManifestFolder data;
  const ImageManifest manifest = data.read("m.csv", "image,label\na.jpg,7\nb/c.jpg,10\na.jpg,0\n");
  CHECK(manifest.labels() == std::vector<std::int64_t>{7, 10, 0});
  CHECK(manifest.classes().size() == 11);
  const ImageManifest bare = data.read("n.csv", "image\na.jpg\n");
  CHECK(bare.labels().empty());
  CHECK(bare.fields().size() == 1);
}

TEST_CASE("quoting follows RFC 4180: separators, quotes and line ends inside names") {
  const ManifestFolder data;
  const std::string odd = "x, \"y\"\nz.jpg";
  test::make_file(data.root / odd, "odd");
  const ImageManifest manifest = data.read(
      "m.csv", "\xef\xbb\xbf\"image\",label\r\n\"x, \"\"y\"\"\nz.jpg\",\"a\"\r\n\r\na.jpg,b");
  REQUIRE(manifest.size() == 2);
  CHECK(field_of(manifest, 0, "image") == "odd");
  CHECK(manifest.origin(0) == "x, \"y\"\\x0az.jpg");
  const ImageManifest tabs = data.read("m.tsv", "image\tlabel\na.jpg\tx,y\n");
  CHECK(tabs.classes() == std::vector<std::string>{"x,y"});
}

TEST_CASE("what is wrong in a manifest is named with its line") {
  const ManifestFolder data;
  CHECK(contains(data.refusal("m.csv", "imgae,label\na.jpg,1\n"),
                 "m.csv:1: column \"image\" or \"path\" must be there, got imgae, label; did you "
                 "mean \"imgae\"?"));
  CHECK(contains(data.refusal("m.csv", "image,image\n"), "must stand there once"));
  CHECK(contains(data.refusal("m.csv", ""), "must name the columns"));
  CHECK(contains(data.refusal("m.csv", "image,label\n"), "must list a file, got none"));
  CHECK(contains(data.refusal("m.csv", "image,label,group\na.jpg,1,2\na.jpg,1\n"),
                 "m.csv:3: column \"group\" must be there, got 2 of 3 fields"));
  CHECK(contains(data.refusal("m.csv", "image,label\na.jpg,1,2\n"), "m.csv:2: must have 2 fields"));
  CHECK(contains(data.refusal("m.csv", "image,label\na.jpg,\n"), "m.csv:2: label must be"));
  CHECK(contains(data.refusal("m.csv", "image,mask\na.jpg,m/a.png\na.jpg,\n"),
                 "m.csv:3: mask must name a file"));
  CHECK(contains(data.refusal("m.csv", "image,weight\na.jpg,-1\n"), "m.csv:2: weight"));
  CHECK(contains(data.refusal("m.csv", "image,weight\na.jpg,nan\n"), "m.csv:2: weight"));
  CHECK(contains(data.refusal("m.csv", "image,weight\na.jpg,1e39\n"), "m.csv:2: weight"));
  CHECK(contains(data.refusal("m.jsonl", "{\"image\": \"a.jpg\", \"weight\": 1e39}\n"),
                 "m.jsonl:1: weight"));
  CHECK(contains(data.refusal("m.csv", "image,weight\na.jpg,1x\n"), "m.csv:2: weight"));
  CHECK(contains(data.refusal("m.csv", "image\n\"a.jpg\n"), "m.csv:2: a quoted field must end"));
  CHECK(contains(data.refusal("m.csv", "image\n\"x\ny\"z\n"), "m.csv:2: a quote may only"));
  CHECK(contains(data.refusal("m.csv", "image\na.jpg\nno.jpg\n"),
                 "m.csv:3: image no.jpg: cannot be found"));
  CHECK(contains(data.refusal("m.csv", "image\nb\n"), "must be a regular file"));
  CHECK(contains(data.refusal("m.jsonl", "{\"image\": \"a.jpg\"}\n[1]\n"),
                 "m.jsonl:2: must be a JSON object, got array"));
  CHECK(contains(data.refusal("m.jsonl", "{\"image\": \"a.jpg\"\n"), "m.jsonl:1: must be a JSON"));
  CHECK(contains(data.refusal("m.jsonl", "{\"label\": 1}\n"),
                 "m.jsonl:1: column \"image\" or \"path\" must be there, got label"));
  CHECK(contains(data.refusal("m.jsonl", "{\"image\": 4}\n"), "image must be a path, got number"));
  CHECK(contains(
      data.refusal("m.jsonl", "{\"image\":\"a.jpg\",\"label\":1}\n{\"image\":\"a.jpg\"}\n"),
      "m.jsonl:2: label must be there as in the first line"));
  CHECK(contains(data.refusal("m.jsonl",
                              "{\"image\":\"a.jpg\",\"label\":1}\n"
                              "{\"image\":\"a.jpg\",\"label\":\"x\"}\n"),
                 "m.jsonl:2: label must be a number as in the lines before"));
  CHECK(contains(data.refusal("m.jsonl", "{\"image\": \"a.jpg\", \"x\": " + std::string(50, '[') +
                                             std::string(50, ']') + "}"),
                 "nested deeper"));
  CHECK(contains(data.refusal("m.txt", "image\na.jpg\n"), "must be called .csv"));
}

TEST_CASE("paths of a manifest may not leave its root") {
  const ManifestFolder data;
  test::make_file(data.root / "in/a.jpg", "a");
  const auto refusal = [&](const std::string& path) {
    return data.refusal("in/m.csv", "image\n" + path + "\n");
  };
  CHECK(contains(refusal("../a.jpg"), "in/m.csv:2: image \"../a.jpg\": must not go up"));
  CHECK(contains(refusal("x/../../a.jpg"), "must not go up"));
  CHECK(contains(refusal((data.root / "a.jpg").string()), "must lie below"));
  CHECK(contains(refusal(std::string("a\0.jpg", 6)), "must be text, got a zero"));
  CHECK(contains(data.refusal("m.jsonl", "{\"image\": \"a\\u0000.jpg\"}\n"), "without a zero"));
  CHECK(contains(refusal(std::string(5000, 'x')), "at most 4095 bytes"));
  CHECK(contains(refusal("\x1b[31mred.jpg"), "\\x1b[31mred.jpg"));
  fs::create_symlink("../a.jpg", data.root / "in/out.jpg");
  CHECK(contains(refusal("out.jpg"), "link leaves the folder"));
  fs::create_directory_symlink("../b", data.root / "in/b");
  CHECK(contains(refusal("b/c.jpg"), "link leaves the folder"));
  fs::create_symlink("a.jpg", data.root / "in/same.jpg");
  CHECK(refusal("same.jpg").empty());
  test::make_file(data.root / "in/m.csv", "image\nout.jpg\nb/c.jpg\n");
  CHECK(ImageManifest(data.root / "in/m.csv", {.listing = {.follow_links = true}}).size() == 2);
  const fs::path inside = fs::canonical(data.root / "in") / "a.jpg";
  CHECK(refusal(inside.string()).empty());
}

TEST_CASE("pairs in one folder are told apart by the masks' suffix") {
  test::TemporaryFolder root;
  test::make_file(root / "a.jpg", "a");
  test::make_file(root / "a_mask.png", "ma");
  test::make_file(root / "x/b.png", "bb");
  test::make_file(root / "x/b_mask.png", "mb");
  const ImagePairsOptions options{
      .images = root.path(), .masks = root / ".", .mask_suffix = "_mask"};
  const ImagePairs pairs(options);
  REQUIRE(pairs.size() == 2);
  CHECK(field_of(pairs, 0, "image") == "a");
  CHECK(field_of(pairs, 0, "mask") == "ma");
  CHECK(field_of(pairs, 1, "image") == "bb");
  CHECK(field_of(pairs, 1, "mask") == "mb");
  const auto refusal = [&](const ImagePairsOptions& wanted) {
    return test::message_of<ConfigError>([&] { ImagePairs opened(wanted); });
  };
  CHECK(contains(refusal({.images = root.path(), .masks = root.path()}),
                 "images and masks in one folder must differ by mask_suffix, got none"));
  CHECK(contains(refusal({.images = root.path(), .masks = root.path(), .mask_suffix = "_seg"}),
                 "that ends in \"_seg\", got none among 4 images (a.jpg) and 0 masks"));
  test::make_file(root / "c_mask.png", "mc");
  CHECK(contains(refusal(options), "c_mask.png: this mask has no image"));
}

TEST_CASE("spare masks are passed over where that is asked for, and counted") {
  test::TemporaryFolder root;
  test::make_file(root / "Images/Train/a.jpg", "a");
  test::make_file(root / "GT/a.png", "ma");
  test::make_file(root / "GT/b.png", "mb");
  test::make_file(root / "GT/c.png", "mc");
  std::vector<std::string> lines;
  ImagePairsOptions options{
      .images = root / "Images/Train", .masks = root / "GT", .spare_masks = true};
  options.listing.log = [&](LogLevel, std::string_view line) { lines.emplace_back(line); };
  const ImagePairs pairs(options);
  REQUIRE(pairs.size() == 1);
  CHECK(field_of(pairs, 0, "mask") == "ma");
  CHECK(std::ranges::count_if(lines, [](const std::string& line) {
          return contains(line, "2 of 3 masks have no image here");
        }) == 1);
  const auto refusal = [&] {
    return test::message_of<ConfigError>([&] { ImagePairs opened(options); });
  };
  options.spare_masks = false;
  CHECK(contains(refusal(), "b.png: this mask has no image"));
  options.spare_masks = true;
  test::make_file(root / "Images/Train/d.jpg", "d");
  CHECK(contains(refusal(), "d.jpg: has no mask in"));
}

TEST_CASE("spare images are passed over where that is asked for, and counted") {
  test::TemporaryFolder root;
  for (const char* name : {"a", "b", "c"})
    test::make_file(root / "Image" / (std::string(name) + ".jpg"), name);
  test::make_file(root / "GT/b.png", "mb");
  std::vector<std::string> lines;
  ImagePairsOptions options{.images = root / "Image", .masks = root / "GT", .spare_images = true};
  options.listing.log = [&](LogLevel, std::string_view line) { lines.emplace_back(line); };
  const auto said = [&](std::string_view text) {
    return std::ranges::count_if(
        lines, [&](const std::string& line) { return contains(line, std::string(text)); });
  };
  const ImagePairs pairs(options);
  REQUIRE(pairs.size() == 1);
  CHECK(field_of(pairs, 0, "image") == "b");
  CHECK(field_of(pairs, 0, "mask") == "mb");
  CHECK(said("2 of 3 images have no mask") == 1);
  const auto refusal = [&] {
    return test::message_of<ConfigError>([&] { ImagePairs opened(options); });
  };
  options.spare_images = false;
  CHECK(contains(refusal(), "a.jpg: has no mask in"));
  options.spare_images = true;
  test::make_file(root / "GT/d.png", "md");
  CHECK(contains(refusal(), "d.png: this mask has no image"));
  options.spare_masks = true;
  lines.clear();
  CHECK(ImagePairs(options).size() == 1);
  CHECK(said("2 of 3 images have no mask") == 1);
  CHECK(said("1 of 2 masks have no image here") == 1);
  fs::remove(root / "GT/b.png");
  CHECK(contains(refusal(), "must hold an image with a mask in"));
  CHECK(contains(refusal(), "got none among 3 images (a.jpg) and 1 masks (d.png)"));
}

TEST_CASE("pairs join images and masks by name") {
  test::TemporaryFolder root;
  test::make_file(root / "images/x/b.jpg", "b");
  test::make_file(root / "images/a.png", "aa");
  test::make_file(root / "masks/x/b_mask.png", "mb");
  test::make_file(root / "masks/a_mask.png", "ma");
  const ImagePairsOptions options{
      .images = root / "images", .masks = root / "masks", .mask_suffix = "_mask"};
  const ImagePairs pairs(options);
  REQUIRE(pairs.size() == 2);
  CHECK(field_of(pairs, 0, "image") == "aa");
  CHECK(field_of(pairs, 0, "mask") == "ma");
  CHECK(field_of(pairs, 1, "mask") == "mb");
  CHECK(pairs.labels().empty());

  const auto refusal = [&](const ImagePairsOptions& wanted) {
    return test::message_of<ConfigError>([&] { ImagePairs opened(wanted); });
  };
  CHECK(contains(refusal({.images = root / "images", .masks = root / "masks"}), "mask"));
  test::make_file(root / "images/c.jpg", "c");
  CHECK(contains(refusal(options), "c.jpg: has no mask in"));
  test::make_file(root / "masks/c_mask.png", "c");
  test::make_file(root / "masks/d_mask.png", "d");
  CHECK(contains(refusal(options), "d_mask.png: this mask has no image"));
  test::make_file(root / "images/d.jpg", "d");
  test::make_file(root / "images/d.png", "d");
  CHECK(contains(refusal(options), "differs from d.jpg by its extension only"));
  CHECK(
      contains(refusal({.images = root / "nowhere", .masks = root / "masks"}), "must be a folder"));
}
