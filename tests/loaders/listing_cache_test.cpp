#include <headrace/loaders/image/image_files.h>
#include <headrace/loaders/image/image_folder.h>
#include <headrace/loaders/image/image_manifest.h>
#include <headrace/loaders/image/image_pairs.h>
#include <headrace/tests/loaders/file_bytes.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/support/peak_memory.h>
#include <headrace/tests/support/temporary_folder.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <zlib.h>

using namespace headrace;
using test::contains;
namespace fs = std::filesystem;

namespace {

/// As if nothing had happened to the folders for a while: a listing that is made in the moment of a
/// change is not kept.
void age(const fs::path& root) {
  const auto then = fs::file_time_type::clock::now() - std::chrono::minutes(1);
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_directory()) fs::last_write_time(entry.path(), then);
  }
  fs::last_write_time(root, then);
}

struct Log {
  std::vector<std::string> lines;
  LogCallback callback() {
    return [this](LogLevel level, std::string_view line) {
      lines.push_back((level == LogLevel::warning ? "warning: " : "") + std::string(line));
    };
  }
  bool has(const std::string& part) const {
    for (const std::string& line : lines) {
      if (contains(line, part)) return true;
    }
    return false;
  }
};

struct Folder {
  Folder() {
    test::make_file(root / "data/cat/a.jpg", "aaa");
    test::make_file(root / "data/cat/deep/b.jpg", "b");
    test::make_file(root / "data/dog/c.jpg", "cc");
    age(root / "data");
  }
  /// Opens the folder through the cache; true when the cache was used.
  bool cached() {
    log.lines.clear();
    const ImageFolder folder(root / "data", {.listing = {.cache = cache(), .log = log.callback()}});
    size = folder.size();
    names.clear();
    for (std::int64_t i = 0; i < folder.size(); ++i)
      names.push_back(folder.origin(i) + "=" +
                      folder.classes()[static_cast<std::size_t>(folder.label(i))]);
    return !log.has("listed");
  }
  fs::path cache() const { return root / "listing"; }

  test::TemporaryFolder root;
  Log log;
  std::int64_t size = 0;
  std::vector<std::string> names;
};

}  // namespace

TEST_CASE("a listing is kept and used again, and gives the same samples") {
  Folder folder;
  CHECK_FALSE(folder.cached());
  const auto names = folder.names;
  REQUIRE(fs::exists(folder.cache()));
  CHECK(folder.cached());
  CHECK(folder.log.lines.empty());
  CHECK(folder.names == names);
  CHECK(folder.names ==
        std::vector<std::string>{"cat/a.jpg=cat", "cat/deep/b.jpg=cat", "dog/c.jpg=dog"});
}

TEST_CASE("a folder that changed at any depth is listed anew") {
  Folder folder;
  folder.cached();
  CHECK(folder.cached());
  test::make_file(folder.root / "data/cat/deep/new.jpg", "n");
  CHECK_FALSE(folder.cached());
  CHECK(folder.log.has("deep has changed"));
  CHECK(folder.size == 4);
  age(folder.root / "data");
  CHECK_FALSE(folder.cached());
  CHECK(folder.cached());
  fs::remove(folder.root / "data/dog/c.jpg");
  test::make_file(folder.root / "data/dog/d.jpg", "d");
  CHECK_FALSE(folder.cached());
  CHECK(folder.names.back() == "dog/d.jpg=dog");
}

TEST_CASE("a kept listing holds nothing of what is in the files: what is there now is read") {
  Folder folder;
  folder.cached();
  test::make_file(folder.root / "data/cat/a.jpg", "AAA");
  CHECK(folder.cached());
  const ImageFolder images(folder.root / "data", {.listing = {.cache = folder.cache()}});
  Sample sample;
  images.read(0, sample);
  const Tensor& file = sample["image"];
  CHECK(std::string(static_cast<const char*>(file.raw()), file.bytes()) == "AAA");
  sample.reset();
  CHECK((!images.read_now(0, sample) || std::memcmp(sample["image"].raw(), "AAA", 3) == 0));
  // Of another length it is listed anew, by the next who opens it.
  test::make_file(folder.root / "data/cat/a.jpg", "AAAA");
  CHECK(contains(test::message_of<DataError>([&] { images.read(0, sample); }),
                 "3 bytes as when it was listed, got 4"));
  CHECK_FALSE(folder.cached());
  CHECK(folder.log.has("data/cat/a.jpg has changed"));
  const ImageFolder again(folder.root / "data", {.listing = {.cache = folder.cache()}});
  sample.reset();
  again.read(0, sample);
  CHECK(sample["image"].bytes() == 4);
  CHECK(folder.cached());
}

TEST_CASE("a listing made in the moment of a change is not kept") {
  Folder folder;
  test::make_file(folder.root / "data/cat/new.jpg", "n");
  // However slow the machine is: the moment has not passed yet.
  fs::last_write_time(folder.root / "data/cat",
                      fs::file_time_type::clock::now() + std::chrono::hours(1));
  CHECK_FALSE(folder.cached());
  CHECK(folder.log.has("is not kept"));
  CHECK_FALSE(fs::exists(folder.cache()));
}

TEST_CASE("a damaged listing costs a line in the log and is made anew") {
  Folder folder;
  folder.cached();
  const std::string good = test::content_of(folder.cache());
  const auto names = folder.names;
  for (std::size_t at = 0; at < good.size(); at += 7) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x20);
    test::make_file(folder.cache(), bad);
    CAPTURE(at);
    CHECK_FALSE(folder.cached());
    CHECK(folder.log.has("warning: image folder"));
    CHECK(folder.log.has("is made anew"));
    CHECK(folder.names == names);
    CHECK(test::content_of(folder.cache()) == good);
  }
  for (std::size_t length = 0; length < good.size(); length += 11) {
    test::make_file(folder.cache(), good.substr(0, length));
    CHECK_FALSE(folder.cached());
    CHECK(folder.names == names);
  }
  CHECK(folder.cached());
}

TEST_CASE("a listing of another data set is not used") {
  Folder folder;
  folder.cached();
  Folder other;
  fs::copy_file(folder.cache(), other.cache());
  CHECK_FALSE(other.cached());
  CHECK(other.log.has("of another data set"));
}

TEST_CASE("a listing that cannot be kept is no error") {
  Folder folder;
  const ImageFolder opened(
      folder.root / "data",
      {.listing = {.cache = folder.root / "no/such/folder/listing", .log = folder.log.callback()}});
  CHECK(opened.size() == 3);
  CHECK(folder.log.has("cannot be kept"));
}

TEST_CASE("a manifest's listing is used while length, time and contents are the same") {
  test::TemporaryFolder root;
  test::make_file(root / "a.jpg", "a");
  test::make_file(root / "bb.jpg", "bb");
  const fs::path manifest = root / "m.csv";
  const auto then = fs::file_time_type::clock::now() - std::chrono::minutes(1);
  const auto put = [&](const std::string& text) {
    test::make_file(manifest, text);
    fs::last_write_time(manifest, then);
  };
  Log log;
  const auto cached = [&] {
    log.lines.clear();
    const ImageManifest opened(manifest,
                               {.listing = {.cache = root / "listing", .log = log.callback()}});
    return std::pair(!log.has("listed"), opened.labels());
  };
  using Labels = std::vector<std::int64_t>;
  put("image,label,weight\na.jpg,0,1\nbb.jpg,1,1\n");
  CHECK(cached() == std::pair(false, Labels{0, 1}));
  CHECK(cached() == std::pair(true, Labels{0, 1}));
  put("image,label,weight\na.jpg,1,1\nbb.jpg,0,1\n");  // same length, same time
  CHECK(cached() == std::pair(false, Labels{1, 0}));
  CHECK(log.has("m.csv has changed"));
  CHECK(cached() == std::pair(true, Labels{1, 0}));
  put("image,label,weight\na.jpg,1,1\n");
  CHECK(cached() == std::pair(false, Labels{1}));
}

namespace {

/// The kept listing with `from` as `to`, of the same length, its checksum made right again.
void forge(const fs::path& cache, const std::string& from, const std::string& to) {
  std::string text = test::content_of(cache);
  const std::size_t at = text.rfind(from);
  REQUIRE(at != std::string::npos);
  REQUIRE(from.size() == to.size());
  text.replace(at, from.size(), to);
  constexpr std::size_t head = 24;
  const auto sum =
      static_cast<std::uint32_t>(::crc32(0, reinterpret_cast<const Bytef*>(text.data() + head),
                                         static_cast<uInt>(text.size() - head)));
  std::memcpy(text.data() + 16, &sum, sizeof sum);
  test::make_file(cache, text);
}

/// Numbers as a listing has them.
std::string numbers(std::initializer_list<std::int32_t> values) {
  return {reinterpret_cast<const char*>(std::data(values)), values.size() * sizeof(std::int32_t)};
}

}  // namespace

TEST_CASE("a listing that says what cannot be is made anew, though its checksum is right") {
  Folder folder;
  folder.cached();
  const std::string good = test::content_of(folder.cache());
  const auto names = folder.names;
  const auto refused = [&](const std::string& from, const std::string& to) {
    test::make_file(folder.cache(), good);
    forge(folder.cache(), from, to);
    CHECK_FALSE(folder.cached());
    CHECK(folder.names == names);
    CHECK(test::content_of(folder.cache()) == good);
    return folder.log.lines.front();
  };
  const std::string paths = "cat/a.jpgcat/deep/b.jpgdog/c.jpg";
  CHECK(contains(refused(paths, "../aa.jpgcat/deep/b.jpgdog/c.jpg"), "leave their folder"));
  CHECK(contains(refused(paths, "/at/a.jpgcat/deep/b.jpgdog/c.jpg"), "leave their folder"));
  CHECK(contains(refused(paths, "cat/a.jpgcat/de/../b.jpgog/c.jpg"), "leave their folder"));
  CHECK(contains(refused(paths, "cow/a.jpgcat/deep/b.jpgdog/c.jpg"), "was not listed"));
  CHECK(contains(refused(paths, std::string("cat/a.jpgcat\0deep/b.jpgdog/c.jpg", 32)), "broken"));
  CHECK(contains(refused(numbers({0, 0, 1}), numbers({1, 0, 1})), "not those of its folders"));
  CHECK(contains(refused(numbers({0, 0, 1}), numbers({0, 1, 0})), "not those of its folders"));
  CHECK(contains(refused(numbers({0, 0, 1}), numbers({0, 0, 2})), "labels are broken"));
  test::make_file(folder.cache(), good);
  CHECK(folder.cached());
}

TEST_CASE("a name with two dots in it is a name") {
  Folder folder;
  test::make_file(folder.root / "data/dog/a..b.jpg", "x");
  age(folder.root / "data");
  CHECK_FALSE(folder.cached());
  CHECK(folder.cached());
  CHECK(folder.size == 4);
}

TEST_CASE("a listing of 4 GB that is none costs nothing, whatever it begins with") {
  Folder folder;
  folder.cached();
  const std::string good = test::content_of(folder.cache());
  const auto names = folder.names;
  const std::size_t paths = good.rfind("cat/a.jpg");
  // Nothing; magic and a length that fits; key and proofs as well, then paths of 4 GB.
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{24}, paths}) {
    CAPTURE(bytes);
    std::string start = good.substr(0, bytes);
    const std::uint64_t size = std::uint64_t{4} << 30;
    const std::uint64_t follows = size - 24, rest = size - paths;
    if (bytes > 0) std::memcpy(start.data() + 8, &follows, 8);
    if (bytes == paths) std::memcpy(start.data() + paths - 8, &rest, 8);
    test::make_file(folder.cache(), start);
    fs::resize_file(folder.cache(), size);
    CHECK(test::peak_growth([&] { CHECK_FALSE(folder.cached()); }) < 64 << 20);
    CHECK(folder.names == names);
    CHECK(fs::file_size(folder.cache()) == good.size());
  }
}

TEST_CASE("listings of pairs and of files without classes are used again, too") {
  const test::TemporaryFolder root;
  test::make_file(root / "in/a.jpg", "a");
  test::make_file(root / "in/deep/b.jpg", "bb");
  test::make_file(root / "masks/a.png", "m");
  test::make_file(root / "masks/deep/b.png", "mm");
  test::make_file(root / "both/c.jpg", "c");
  test::make_file(root / "both/c_mask.png", "m");
  age(root.path());
  Log log;
  const auto options = [&](const char* name) {
    log.lines.clear();
    return ListingOptions{.cache = root / name, .log = log.callback()};
  };
  for (const bool again : {false, true}) {
    const ImageFiles files(root / "in", options("files.listing"));
    CHECK(files.size() == 2);
    CHECK(log.has("listed") != again);
    const ImagePairs pairs(
        {.images = root / "in", .masks = root / "masks", .listing = options("pairs.listing")});
    CHECK(pairs.size() == 2);
    CHECK(log.has("listed") != again);
    const ImagePairs both({.images = root / "both",
                           .masks = root / "both",
                           .mask_suffix = "_mask",
                           .listing = options("both.listing")});
    CHECK(both.size() == 1);
    CHECK(log.has("listed") != again);
  }
}

TEST_CASE("a listing that passed over spare images is not used where they are refused") {
  test::TemporaryFolder root;
  for (const char* file : {"data/Image/a.jpg", "data/Image/b.jpg", "data/GT/a.png"})
    test::make_file(root / file, "x");
  age(root / "data");
  ImagePairsOptions options{
      .images = root / "data/Image", .masks = root / "data/GT", .spare_images = true};
  options.listing.cache = root / "listing";
  CHECK(ImagePairs(options).size() == 1);
  REQUIRE(fs::exists(options.listing.cache));
  CHECK(ImagePairs(options).size() == 1);
  options.spare_images = false;
  CHECK(contains(test::message_of<ConfigError>([&] { ImagePairs opened(options); }),
                 "b.jpg: has no mask in"));
}
