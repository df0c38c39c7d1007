#include <headrace/engine/base/error.h>
#include <headrace/engine/headrace.h>
#include <headrace/loaders/image/image_manifest.h>
#include <headrace/loaders/image/pack/detail/pack_format.h>
#include <headrace/loaders/image/pack/image_pack.h>
#include <headrace/loaders/image/pack/pack_images.h>
#include <headrace/tests/loaders/file_bytes.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/image_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using test::contains;
namespace fs = std::filesystem;

namespace {

using Labels = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

/// A folder with pictures 0.png to 4.png.
struct LabelFolder {
  LabelFolder() {
    for (int i = 0; i < 5; ++i) {
      const auto seed = static_cast<unsigned>(i);
      test::write_bytes(root / (std::to_string(i) + ".png"),
                        test::encode_png({.width = 8, .height = 8}, test::picture(8, 8, 3, seed),
                                         std::size_t{3} * 8));
    }
  }
  ImageManifest read(const std::string& text, const ImageManifestOptions& options = {},
                     const std::string& name = "m.csv") const {
    std::ofstream(root / name, std::ios::binary) << text;
    return ImageManifest(root / name, options);
  }
  std::string refusal(const std::string& text, const ImageManifestOptions& options = {},
                      const std::string& name = "m.csv") const {
    return test::message_of<ConfigError>([&] { read(text, options, name); });
  }
  test::TemporaryFolder root;
};

Labels flags_of(const Source& source, std::int64_t index) {
  Sample sample;
  source.read(index, sample);
  CHECK_FALSE(sample.has("label"));
  const auto flags = sample["labels"].values<std::uint8_t>();
  return {flags.begin(), flags.end()};
}

/// The pack with another class in its first label set, and checksums that are right.
void forge_first_label(const fs::path& from, const fs::path& to, std::int32_t label) {
  test::Bytes bytes = test::file_bytes(from);
  auto header = detail::PackHeader::decode(std::span(bytes).first(detail::PackFormat::page));
  std::byte* const names = bytes.data() + header.names_offset;
  std::memcpy(names + 3 * 4 + 9 + 4, &label, sizeof label);  // behind "cat", "dog", "sad"
  header.names_checksum = detail::checksum_of(names, header.names_bytes);
  const auto page = header.encode();
  std::memcpy(bytes.data(), page.data(), page.size());
  test::write_bytes(to, bytes);
}

const std::string tags =
    "path,label,split\n0.png,cat; sad,train\n1.png,dog,val\n2.png,sad;cat,test\n";
const ImageManifestOptions by_semicolon{.columns = {.label_separator = ";"}};

}  // namespace

TEST_CASE("columns are found by the names that are given, path being the default beside image") {
  const LabelFolder data;
  const ImageManifest manifest = data.read(
      "patient,file,diagnosis,fold\np1,0.png,healthy,Training\np2,1.png,ill,Test\n",
      {.columns = {.path = "file", .label = "diagnosis", .group = "patient", .split = "fold"}});
  CHECK(manifest.classes() == Names{"healthy", "ill"});
  CHECK(manifest.labels() == Labels{0, 1});
  CHECK(manifest.group_names() == Names{"p1", "p2"});
  CHECK(manifest.splits() == std::vector{DataSplit::train, DataSplit::test});
  CHECK(data.read("path,label\n0.png,1\n").labels() == Labels{1});
  CHECK(data.read("path,image\nnone.png,0.png\n").origin(0) == "0.png");
  const std::string jsonl = "{\"file\": \"0.png\", \"y\": 3, \"label\": [1]}\n";
  CHECK(data.read(jsonl, {.columns = {.path = "file", .label = "y"}}, "m.jsonl").labels() ==
        Labels{3});
}

TEST_CASE("columns that are not there, or stand for two things, are refused with the nearest") {
  const LabelFolder data;
  const std::string text = "image,diagnosis,patient\n0.png,ill,p1\n";
  CHECK(contains(data.refusal(text, {.columns = {.label = "diagnosys"}}),
                 "m.csv:1: column \"diagnosys\" must be there, got image, diagnosis, patient; did "
                 "you mean \"diagnosis\"?"));
  CHECK(contains(data.refusal(text, {.columns = {.label = "patient", .group = "patient"}}),
                 "column \"patient\" must stand for one thing, is asked for twice"));
  CHECK(contains(data.refusal(text, {.columns = {.label = "diagnosis", .labels = {"patient"}}}),
                 "both are named"));
  CHECK(contains(data.refusal(text, {.root = data.root / "nowhere"}),
                 "nowhere: must be the folder of the images"));
  CHECK(contains(data.refusal(text, by_semicolon), "column \"label\" must be there"));
  CHECK(contains(data.refusal("{\"image\": \"0.png\", \"kind\": 1}\n",
                              {.columns = {.label = "kinds"}}, "m.jsonl"),
                 "m.jsonl:1: column \"kinds\" must be there, got image, kind; did you mean"));
}

TEST_CASE("a split is one of the usual words, and neither a path nor a group is in two") {
  const LabelFolder data;
  const ImageManifest manifest = data.read(
      "image,split\n0.png,train\n1.png,training\n2.png,valid\n3.png,VAL\n4.png,validation\n");
  CHECK(manifest.splits() == std::vector{DataSplit::train, DataSplit::train, DataSplit::validation,
                                         DataSplit::validation, DataSplit::validation});
  CHECK(data.read("image\n0.png\n").splits().empty());
  CHECK(contains(data.refusal("image,split\n0.png,train\n1.png,tesst\n"),
                 "m.csv:3: split must be train, validation or test, got \"tesst\"; did you mean "
                 "\"test\"?"));
  CHECK(contains(data.refusal("image,split\n0.png,\n"), "m.csv:2: split must be train"));
  CHECK(contains(data.refusal("image,split\n0.png,test\n1.png,test\n0.png,train\n"),
                 "0.png must be in one split, got train and test"));
  CHECK(data.refusal("image,split\n0.png,test\n0.png,test\n").empty());
  CHECK(contains(data.refusal("image,split,group\n0.png,train,p1\n1.png,val,p2\n2.png,val,p1\n"),
                 "m.csv:4: group \"p1\" must be in one split, got validation after train"));
}

TEST_CASE("one image is in one split by whatever path it is named") {
  const LabelFolder data;
  fs::create_directory(data.root / "sub");
  fs::create_symlink("0.png", data.root / "link.png");
  fs::create_symlink("sub", data.root / "other");
  fs::create_hard_link(data.root / "0.png", data.root / "sub" / "hard.png");
  const auto refusal = [&](const std::string& again) {
    return data.refusal("image,split\n0.png,train\n1.png,val\n" + again + ",test\n");
  };
  CHECK(contains(refusal("./0.png"),
                 "0.png and ./0.png are one file, which must be in one split, got train and test"));
  CHECK(contains(refusal("sub//hard.png"), "must be in one split, got train and test"));
  CHECK(contains(refusal("other/hard.png"), "must be in one split, got train and test"));
  CHECK(contains(refusal("link.png"), "must be in one split, got train and test"));
  CHECK(contains(refusal((data.root / "0.png").native()), "must be in one split"));
  CHECK(data.refusal("image,split\n0.png,test\n./0.png,test\nlink.png,test\n").empty());
  fs::copy_file(data.root / "0.png", data.root / "sub" / "own.png");
  CHECK(refusal("sub/own.png").empty());
}

TEST_CASE("several names in a cell, or columns of 0 and 1, give a field of flags") {
  const LabelFolder data;
  const ImageManifest names = data.read(tags, by_semicolon);
  CHECK(names.multi_label());
  CHECK(names.classes() == Names{"cat", "dog", "sad"});
  CHECK(flags_of(names, 0) == Labels{1, 0, 1});
  CHECK(flags_of(names, 1) == Labels{0, 1, 0});
  CHECK(flags_of(names, 2) == Labels{1, 0, 1});
  CHECK(names.label_set(2) == Labels{0, 2});
  CHECK(names.label(2) == -1);
  CHECK(names.labels().empty());
  CHECK(names.fields().at("labels") == FieldSpec::fixed("labels", DType::uint8, Shape{3}));

  const ImageManifestOptions by_columns{.columns = {.labels = {"sad", "cat"}}};
  const ImageManifest columns =
      data.read("cat,image,sad,label\n1,0.png,0,7\n0,1.png,0,7\n1,2.png,1,7\n", by_columns);
  CHECK(columns.classes() == Names{"sad", "cat"});
  CHECK(flags_of(columns, 0) == Labels{0, 1});
  CHECK(flags_of(columns, 1) == Labels{0, 0});
  CHECK(flags_of(columns, 2) == Labels{1, 1});
  CHECK(columns.label_set(1).empty());
  const ImageManifest lines = data.read(
      "{\"image\": \"0.png\", \"cat\": 1, \"sad\": 0}\n{\"image\": \"1.png\", \"cat\": 1, \"sad\": "
      "1}\n",
      by_columns, "m.jsonl");
  CHECK(flags_of(lines, 0) == Labels{0, 1});

  const ImageManifest numbers = data.read("image,label\n0.png,3\n1.png,1;0\n", by_semicolon);
  CHECK(numbers.classes() == Names{"0", "1", "2", "3"});
  CHECK(flags_of(numbers, 1) == Labels{1, 1, 0, 0});
  const ImageManifest one = data.read("image,label\n0.png,a\n1.png,b\n");
  CHECK_FALSE(one.multi_label());
  CHECK(one.label_set(1) == Labels{1});
}

TEST_CASE("labels that cannot be right are refused by line") {
  const LabelFolder data;
  const auto refusal = [&](const std::string& cell) {
    return data.refusal("image,label\n0.png,a\n1.png," + cell + "\n", by_semicolon);
  };
  CHECK(contains(refusal(""), "m.csv:3: label must name a class, got nothing; where records may"));
  CHECK(contains(refusal("a;;b"), "m.csv:3: label must be a name or a number, got nothing"));
  CHECK(contains(refusal("a;b; a"), "m.csv:3: label must name a class once, got \"a;b; a\""));
  CHECK(contains(refusal("caf\xe9"), "m.csv:3: label must be UTF-8"));
  CHECK(contains(refusal(std::string(5000, 'x')), "m.csv:3: label must have at most 4096 bytes"));
  CHECK(contains(
      data.refusal("image,a,b\n0.png,0,1\n1.png,0,2\n", {.columns = {.labels = {"a", "b"}}}),
      "m.csv:3: b must be 0 or 1, got \"2\""));
  CHECK(contains(data.refusal("image,group\n0.png,\n"), "m.csv:2: group must be a name"));
  CHECK(contains(data.refusal("image,label\n0.png,1\n1.png,-1\n"),
                 "m.csv: labels that are whole numbers must be 0 or more, got -1"));
  CHECK(contains(data.refusal("image,label\n0.png,7\n1.png,007\n"), "are one number in two ways"));
  CHECK(contains(
      data.refusal("{\"image\": \"0.png\", \"label\": [\"a\"]}\n", by_semicolon, "m.jsonl"),
      "label must be text or a whole number, got array"));
}

TEST_CASE("class names that are given fix the numbers of labels") {
  const LabelFolder data;
  const ImageManifestOptions fixed{.classes = {"dog", "cat", "bird"}};
  const ImageManifest manifest = data.read("image,label\n0.png,cat\n1.png,dog\n", fixed);
  CHECK(manifest.classes() == fixed.classes);
  CHECK(manifest.labels() == Labels{1, 0});
  CHECK(contains(data.refusal("image,label\n0.png,cat\n1.png,brid\n", fixed),
                 "m.csv:3: label must be one of the 3 classes, got \"brid\"; did you mean "
                 "\"bird\"?"));
  CHECK(contains(data.refusal("image,cat,dog\n0.png,1,0\n",
                              {.columns = {.labels = {"cat", "dog"}}, .classes = {"dog", "cat"}}),
                 "must be the classes, in their order"));
}

TEST_CASE("packs and kept listings carry label sets and splits") {
  const LabelFolder data;
  fs::last_write_time(data.root.path(), fs::file_time_type::clock::now() - std::chrono::hours(1));
  std::ofstream(data.root / "m.csv", std::ios::binary) << tags;
  ImageManifestOptions options = by_semicolon;
  options.listing.cache = data.root / "m.listing";
  const ImageManifest listed(data.root / "m.csv", options);
  std::string said;
  options.listing.log = [&said](LogLevel, std::string_view line) { said += line; };
  const ImageManifest kept(data.root / "m.csv", options);
  CHECK(said.empty());
  pack_images(listed, {.file = data.root / "m.pack"});
  const ImagePack pack(data.root / "m.pack");
  for (const ImageSource* source :
       {static_cast<const ImageSource*>(&kept), static_cast<const ImageSource*>(&pack)}) {
    CHECK(source->multi_label());
    CHECK(source->classes() == listed.classes());
    CHECK(source->splits() == listed.splits());
    CHECK(source->fields() == listed.fields());
    for (std::int64_t i = 0; i < listed.size(); ++i)
      CHECK(flags_of(*source, i) == flags_of(listed, i));
  }
  for (const std::int32_t wrong : {-1, 3}) {
    CAPTURE(wrong);
    forge_first_label(data.root / "m.pack", data.root / "forged.pack", wrong);
    CHECK(
        contains(test::message_of<DataError>([&] { ImagePack opened(data.root / "forged.pack"); }),
                 "label set must hold classes"));
  }
  options.columns.label_separator = "; ";
  const ImageManifest other(data.root / "m.csv", options);
  CHECK(contains(said, "it is of another data set"));
  CHECK(other.classes() == Names{"cat", "dog", "sad", "sad;cat"});
}

TEST_CASE("batches of label sets are the same bytes for 1, 2 and 8 threads") {
  const LabelFolder data;
  const auto manifest = std::make_shared<const ImageManifest>(data.read(tags, by_semicolon));
  std::vector<std::uint8_t> first;
  for (const int threads : {1, 2, 8}) {
    auto loader = Pipeline::from(manifest)
                      .order(Shuffled{.seed = 3})
                      .batch({.size = 3})
                      .build({.runtime = Runtime({.threads = threads})});
    std::vector<std::uint8_t> all;
    for (const std::int64_t epoch : {0, 1}) {
      for (Batch& batch : loader.epoch(epoch)) {
        const auto flags = batch["labels"].values<std::uint8_t>();
        all.insert(all.end(), flags.begin(), flags.end());
      }
    }
    CHECK(all.size() == 18);
    if (first.empty()) first = all;
    CHECK(all == first);
  }
}
