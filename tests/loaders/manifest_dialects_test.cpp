#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_manifest.h>
#include <headrace/tests/loaders/file_bytes.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/support/temporary_folder.h>

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using test::contains;

namespace {

constexpr const char* composed = "\xc3\xa9_\xc3\xbc.jpg";      // é_ü.jpg in NFC
constexpr const char* decomposed = "e\xcc\x81_u\xcc\x88.jpg";  // in NFD

// Two pictures below folders, and lists of them as other programs write them.
struct DialectFolder {
  DialectFolder() {
    test::make_file(root / "cat/0.png", "c");
    test::make_file(root / "dog/1.png", "dd");
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

void check_both(const ImageManifest& list) {
  REQUIRE(list.size() == 2);
  CHECK(list.origin(0) == "cat/0.png");
  CHECK(list.origin(1) == "dog/1.png");
  CHECK(list.classes() == std::vector<std::string>{"cat", "dog"});
  CHECK(list.labels() == std::vector<std::int64_t>{0, 1});
}

}  // namespace

TEST_CASE("a list is read with the separator that its first line has, and without blanks") {
  const DialectFolder data;
  for (const std::string& text : {std::string("image;label\ncat/0.png;cat\ndog/1.png;dog\n"),
                                  std::string("\n\nimage\tlabel\ncat/0.png\tcat\ndog/1.png\tdog\n"),
                                  std::string("image , label\ncat/0.png, cat\n dog/1.png ,dog \n"),
                                  std::string("\"image\";\"label\"\n\"cat/0.png\";\"cat\"\n"
                                              "\"dog/1.png\";\"dog\"\n")}) {
    CAPTURE(text);
    CHECK_NOTHROW(check_both(data.read("list.csv", text)));
  }
  CHECK_NOTHROW(check_both(data.read("list.tsv", "image,label\ncat/0.png,cat\ndog/1.png,dog\n")));
  // What stands in the first line in quotes separates nothing.
  CHECK(data.read("quoted.csv", "\"image\",\"a;b\"\ncat/0.png,x\n").size() == 1);
}

TEST_CASE("a path with backslashes is that with slashes, unless a file is called so") {
  const DialectFolder data;
  CHECK_NOTHROW(
      check_both(data.read("back.csv", "image,label\r\ncat\\0.png,cat\r\ndog\\1.png,dog\r\n")));
  CHECK(contains(data.refusal("up.csv", "image\n..\\cat\\0.png\n"), "must not go up"));
  CHECK(contains(data.refusal("drive.csv", "image\nC:\\data\\cat\\0.png\n"), "without its drive"));
  test::make_file(data.root / "cat\\0.png", "other");
  CHECK(data.read("own.csv", "image\ncat\\0.png\n").image_bytes(0) == 5);
}

TEST_CASE("a list that is no UTF-8 is refused by the name of what it is") {
  const DialectFolder data;
  using std::string_literals::operator""s;
  CHECK(contains(data.refusal("low.csv", "\xff\xfei\0m\0"s), "is UTF-16"));
  CHECK(contains(data.refusal("high.csv", "\xfe\xff\0i\0m"s), "is UTF-16"));
}

TEST_CASE("a file that is not there is told with the one that may be meant") {
  const DialectFolder data;
  test::make_file(data.root / decomposed, "x");
  test::make_file(data.root / "Jaime\xf1oz.jpg", "x");
  const auto said = [&](const std::string& path) {
    return data.refusal("list.csv", "image\n" + path + "\n");
  };
  CHECK(contains(said(composed), "composed otherwise"));
  CHECK(contains(said("Jaime\xc3\xb1oz.jpg"), "Jaime\\xf1oz.jpg"));
  CHECK(contains(said("Cat/0.png"), "did you mean \"cat\"? Capitals count"));
  CHECK(contains(said("cat/0"), "did you mean \"0.png\"? Names have their extension"));
  CHECK(contains(said("cat/7.png"), "cannot be found: No such file or directory"));
  CHECK_FALSE(contains(said("cat/7.png"), "did you mean"));
}

TEST_CASE("a list without a first line that names columns is told so") {
  const DialectFolder data;
  CHECK(contains(data.refusal("bare.csv", "cat/0.png,cat\ndog/1.png,dog\n"),
                 "the first line must name the columns"));
  CHECK(contains(data.refusal("names.csv", "filename,class\ncat/0.png,cat\n"), "columns.path"));
}

TEST_CASE("a label that says there is none is refused, one number in two ways is told apart") {
  const DialectFolder data;
  for (const char* none : {"nan", "NaN", "<NA>"})
    CHECK(contains(data.refusal("none.csv", "image,label\ncat/0.png,cat\ndog/1.png," +
                                                std::string(none) + "\n"),
                   "none.csv:3: label must be a class, got \"" + std::string(none) + "\""));
  CHECK(contains(data.refusal("zeros.csv", "image,label\ncat/0.png,7\ndog/1.png,007\n"),
                 "\"007\" and \"7\" are one number"));
  CHECK(data.read("even.csv", "image,label\ncat/0.png,00\ndog/1.png,01\n").classes() ==
        std::vector<std::string>{"0", "1"});
}

TEST_CASE("numbers may have a point and zeros behind it, as tables with gaps are written") {
  const DialectFolder data;
  const ImageManifest floats =
      data.read("floats.csv", "image,label\ncat/0.png,0.0\ndog/1.png,1.0\n");
  CHECK(floats.classes() == std::vector<std::string>{"0", "1"});
  CHECK(floats.labels() == std::vector<std::int64_t>{0, 1});

  test::make_file(data.root / "flags.csv", "image,a,b\ncat/0.png,1.0,0.0\ndog/1.png,0,1\n");
  ImageManifestOptions options;
  options.columns.labels = {"a", "b"};
  const ImageManifest flags(data.root / "flags.csv", options);
  CHECK(flags.label_set(0) == std::vector<std::int64_t>{0});
  CHECK(flags.label_set(1) == std::vector<std::int64_t>{1});
  test::make_file(data.root / "flags.csv", "image,a,b\ncat/0.png,1.0,-1.0\n");
  CHECK(contains(
      test::message_of<ConfigError>([&] { ImageManifest(data.root / "flags.csv", options); }),
      "b must be 0 or 1, got \"-1.0\""));
}

TEST_CASE("the names of a list's columns are known without its rows") {
  const DialectFolder data;
  const auto names = [&](const std::string& name, const std::string& text) {
    test::make_file(data.root / name, text);
    return column_names(data.root / name);
  };
  using Names = std::vector<std::string>;
  CHECK(names("a.csv", "\xef\xbb\xbfimage ;\"Patient; ID\"\nnone.png;1\n") ==
        Names{"image", "Patient; ID"});
  CHECK(names("a.tsv", "image\tlabel\n") == Names{"image", "label"});
  CHECK(names("a.jsonl", "\n{\"image\": \"a\", \"none\": null, \"case\": 1}\n[]\n") ==
        Names{"case", "image"});
  for (const char* name : {"b.csv", "b.jsonl"})
    CHECK_THROWS_AS(names(name, ""), ConfigError);
  CHECK_THROWS_AS(names("a.txt", "image\n"), ConfigError);
  CHECK_THROWS_AS(column_names(data.root / "none.csv"), ConfigError);
}
