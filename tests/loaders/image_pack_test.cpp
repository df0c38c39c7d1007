#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/crop_indexed_jpeg.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/loaders/image/image_folder.h>
#include <headrace/loaders/image/pack/detail/pack_format.h>
#include <headrace/loaders/image/pack/image_pack.h>
#include <headrace/loaders/image/pack/pack_images.h>
#include <headrace/tests/loaders/file_bytes.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/image_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using test::Bytes;
using test::contains;
using test::file_bytes;
using test::write_bytes;
namespace fs = std::filesystem;

namespace {

/// Two classes, twelve photographs and a PNG.
void write_photographs(const fs::path& root) {
  for (int i = 0; i < 12; ++i) {
    const int width = 90 + 7 * i;
    const test::JpegSpec spec{.width = width, .height = 80, .progressive = i % 3 == 0};
    write_bytes(root / (i % 2 == 0 ? "cat" : "dog") / (std::to_string(10 + i) + ".jpg"),
                test::encode_jpeg(spec, test::picture(width, 80, 3, static_cast<unsigned>(i))));
  }
  write_bytes(root / "dog/z.png",
              test::encode_png({.width = 40, .height = 30}, test::picture(40, 30, 3), 120));
}

Bytes bytes_of(const Source& source, std::int64_t index) {
  Sample sample;
  source.read(index, sample);
  const Tensor& image = sample["image"];
  const auto* first = static_cast<const std::byte*>(image.raw());
  return {first, first + image.bytes()};
}

test::Pixels pixels_of(const Bytes& file) {
  ImageDecoder decoder;
  const ImageHeader header = decoder.open(file);
  test::Pixels rgb(static_cast<std::size_t>(header.width) *
                   static_cast<std::size_t>(header.height) * 3);
  const Region whole{0, 0, header.width, header.height};
  decoder.decode({0, 0, double(header.width), double(header.height), whole},
                 {.rgb = rgb.data(), .height = header.height, .width = header.width});
  return rgb;
}

std::string pack_refusal(const fs::path& file) {
  return test::message_of<DataError>([&] { ImagePack pack(file); });
}

/// The file with `change` made to its bytes and every checksum of header and index made right
/// again.
void forge(const fs::path& from, const fs::path& to, const std::function<void(Bytes&)>& change) {
  using detail::PackFormat;
  Bytes bytes = file_bytes(from);
  change(bytes);
  std::uint64_t records = 0;
  std::memcpy(&records, bytes.data() + 16, 8);
  for (std::uint64_t i = 0; i < records; ++i) {
    const std::size_t at = PackFormat::page + i * PackFormat::entry_bytes;
    if (at + PackFormat::entry_bytes > bytes.size()) break;
    const std::uint32_t sum = detail::checksum_of(bytes.data() + at, 76);
    std::memcpy(bytes.data() + at + 76, &sum, 4);
  }
  const std::uint64_t index = records * PackFormat::entry_bytes;
  if (records <= bytes.size() / PackFormat::entry_bytes &&
      PackFormat::page + index <= bytes.size()) {
    const std::uint32_t sum = detail::checksum_of(bytes.data() + PackFormat::page, index);
    std::memcpy(bytes.data() + 80, &sum, 4);
  }
  const std::uint32_t sum = detail::checksum_of(bytes.data(), PackFormat::page - 4);
  std::memcpy(bytes.data() + PackFormat::page - 4, &sum, 4);
  write_bytes(to, bytes);
}

template <class T>
void put(Bytes& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

constexpr std::size_t entry(std::size_t i) {
  return detail::PackFormat::page + i * detail::PackFormat::entry_bytes;
}

}  // namespace

TEST_CASE("a pack of originals gives the files, labels and names of the folder") {
  test::TemporaryFolder root;
  write_photographs(root / "data");
  const ImageFolder folder(root / "data");
  const PackProgress done = pack_images(folder, {.file = root / "data.pack"});
  CHECK(done.records == 13);
  CHECK(done.skipped == 0);
  CHECK_FALSE(fs::exists(root / "data.pack.partial"));
  CHECK(fs::file_size(root / "data.pack") == done.bytes);
  const ImagePack pack(root / "data.pack");
  REQUIRE(pack.size() == folder.size());
  CHECK(pack.classes() == folder.classes());
  CHECK(pack.labels() == folder.labels());
  CHECK(pack.fields() == folder.fields());
  for (std::int64_t i = 0; i < pack.size(); ++i) {
    CHECK(bytes_of(pack, i) == bytes_of(folder, i));
    Sample now;
    if (pack.read_now(i, now)) CHECK(now["image"].bytes() == pack.image_bytes(i));
    CHECK(pack.origin(i) == folder.origin(i));
    CHECK(pack.record(i).content == ImagePack::Content::original);
  }
  CHECK(pack.record(12).width == 40);
  CHECK(pack.record(12).height == 30);
}

TEST_CASE("a crop-indexed pack holds the same pixels, other formats as they are") {
  test::TemporaryFolder root;
  write_photographs(root / "data");
  const ImageFolder folder(root / "data");
  const PackProgress done = pack_images(folder, {.file = root / "data.pack", .crop_index = true});
  CHECK(done.crop_indexed == 12);
  const ImagePack pack(root / "data.pack");
  for (std::int64_t i = 0; i < pack.size(); ++i) {
    const Bytes file = bytes_of(pack, i);
    CHECK(CropIndexedJpeg::recognises(file) == (i != 12));
    CHECK(pixels_of(file) == pixels_of(bytes_of(folder, i)));
  }
}

TEST_CASE("shrinking keeps ratios and leaves small images alone") {
  test::TemporaryFolder root;
  write_photographs(root / "data");
  const ImageFolder folder(root / "data");
  pack_images(folder, {.file = root / "data.pack", .longest_side = 100, .quality = 95});
  const ImagePack pack(root / "data.pack");
  for (std::int64_t i = 0; i < pack.size(); ++i) {
    ImageDecoder decoder;
    const Bytes before = bytes_of(folder, i);
    const Bytes after = bytes_of(pack, i);
    const ImageHeader was = decoder.open(before);
    const ImageHeader is = decoder.open(after);
    if (was.width <= 100) {
      CHECK(before == after);
      continue;
    }
    CHECK(pack.record(i).content == ImagePack::Content::shrunk);
    CHECK(is.width == 100);
    CHECK(is.height == static_cast<int>(std::lround(80.0 * 100 / was.width)));
  }
}

TEST_CASE("the bytes of a pack depend neither on threads nor on interruptions") {
  test::TemporaryFolder root;
  write_photographs(root / "data");
  const ImageFolder folder(root / "data");
  pack_images(folder, {.file = root / "one.pack", .crop_index = true});
  const Bytes expected = file_bytes(root / "one.pack");
  for (const int threads : {2, 8}) {
    const fs::path file = root / ("threads" + std::to_string(threads));
    pack_images(folder, {.file = file, .crop_index = true, .threads = threads});
    CHECK(file_bytes(file) == expected);
  }
  for (std::int64_t stop_after = 1; stop_after < 13; stop_after += 3) {
    CAPTURE(stop_after);
    const fs::path file = root / ("stopped" + std::to_string(stop_after));
    std::stop_source stop;
    PackOptions options{.file = file, .crop_index = true, .threads = 2, .stop = stop.get_token()};
    options.on_progress = [&](const PackProgress& progress) {
      if (progress.records == stop_after) stop.request_stop();
    };
    const PackProgress first = pack_images(folder, options);
    CHECK(first.records == stop_after);
    CHECK_FALSE(fs::exists(file));
    options.stop = {};
    options.on_progress = {};
    const PackProgress second = pack_images(folder, options);
    CHECK(second.resumed == stop_after);
    CHECK(file_bytes(file) == expected);
  }
  pack_images(folder,
              {.file = root / "other.pack", .crop_index = true, .index = {.segment_pixels = 32}});
  CHECK(file_bytes(root / "other.pack") != expected);
}

TEST_CASE("what a killed run left half-written is written anew") {
  test::TemporaryFolder root;
  write_photographs(root / "data");
  const ImageFolder folder(root / "data");
  pack_images(folder, {.file = root / "one.pack"});
  const Bytes whole = file_bytes(root / "one.pack");
  // As a kill leaves it: header without its end, some entries, a record cut off.
  std::stop_source stop;
  PackOptions options{.file = root / "two.pack", .stop = stop.get_token()};
  options.on_progress = [&](const PackProgress& progress) {
    if (progress.records == 6) stop.request_stop();
  };
  pack_images(folder, options);
  const fs::path partial = root / "two.pack.partial";
  const std::uintmax_t bytes = fs::file_size(partial);
  fs::resize_file(partial, bytes - 100);
  options.stop = {};
  options.on_progress = {};
  CHECK(pack_images(folder, options).resumed == 5);
  CHECK(file_bytes(root / "two.pack") == whole);
  // A file begun with other options is not gone on with.
  write_bytes(root / "three.pack.partial", Bytes(10000, std::byte{1}));
  options.file = root / "three.pack";
  CHECK(pack_images(folder, options).resumed == 0);
  CHECK(file_bytes(root / "three.pack") == whole);
}

TEST_CASE("bad images end the packing, or are left out and counted") {
  test::TemporaryFolder root;
  write_photographs(root / "data");
  const Bytes good = file_bytes(root / "data/cat/12.jpg");
  write_bytes(root / "data/cat/12.jpg", Bytes(good.begin(), good.begin() + 500));
  write_bytes(root / "data/dog/13.jpg", Bytes(100, std::byte{7}));
  const ImageFolder folder(root / "data");
  PackOptions options{.file = root / "data.pack", .threads = 2};
  CHECK(contains(test::message_of<DataError>([&] { pack_images(folder, options); }),
                 "[pack] cat/12.jpg: JPEG"));
  std::vector<std::string> bad;
  options.skip_bad = true;
  options.on_bad = [&](std::int64_t index, const std::string& reason) {
    bad.push_back(folder.origin(index) + ": " + reason);
  };
  const PackProgress done = pack_images(folder, options);
  CHECK(done.skipped == 2);
  REQUIRE(bad.size() == 2);
  CHECK(contains(bad[0], "cat/12.jpg: JPEG"));
  const ImagePack pack(root / "data.pack");
  CHECK(pack.size() == 11);
  CHECK(pack.skipped() == 2);
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < folder.size(); ++i) {
    if (folder.origin(i) == "cat/12.jpg" || folder.origin(i) == "dog/13.jpg") continue;
    CHECK(pack.origin(at) == folder.origin(i));
    CHECK(pack.label(at) == folder.label(i));
    CHECK(bytes_of(pack, at++) == bytes_of(folder, i));
  }
}

TEST_CASE("options that cannot be right are refused before anything is written") {
  test::TemporaryFolder root;
  write_photographs(root / "data");
  const ImageFolder folder(root / "data");
  const auto refused = [&](PackOptions options) {
    options.file = root / "x.pack";
    return test::message_of<ConfigError>([&] { pack_images(folder, options); });
  };
  CHECK(contains(refused({.alignment = 100}), "power of two"));
  CHECK(contains(refused({.longest_side = 4}), "longest_side"));
  CHECK(contains(refused({.longest_side = 100, .quality = 0}), "quality"));
  CHECK(contains(refused({.threads = 0}), "threads"));
  CHECK(contains(refused({.index = {.segment_pixels = 0}}), "segment_pixels"));
  CHECK_FALSE(fs::exists(root / "x.pack.partial"));
}

TEST_CASE("damage of any byte that means something is found, at opening or when it is read") {
  using detail::PackEntry;
  using detail::PackFormat;
  test::TemporaryFolder root;
  write_photographs(root / "data");
  pack_images(ImageFolder(root / "data"), {.file = root / "data.pack"});
  const Bytes whole = file_bytes(root / "data.pack");
  const detail::PackHeader header = detail::PackHeader::decode(whole);
  std::vector<bool> means(whole.size());
  const auto mark = [&](std::uint64_t first, std::uint64_t bytes) {
    for (std::uint64_t at = first; at < first + bytes; ++at)
      means[at] = true;
  };
  mark(0, PackFormat::page);
  mark(PackFormat::page, header.index_bytes);
  mark(header.names_offset, header.names_bytes);
  for (std::size_t i = 0; i < 13; ++i) {
    const PackEntry entry_i = PackEntry::decode(whole.data() + entry(i));
    mark(entry_i.offset, entry_i.image_bytes);
  }
  const fs::path damaged = root / "damaged.pack";
  std::size_t unseen = 0;
  for (std::size_t at = 0; at < whole.size(); at += at < header.data_offset ? 37 : 311) {
    if (!means[at]) continue;
    Bytes bytes = whole;
    bytes[at] ^= std::byte{0x40};
    write_bytes(damaged, bytes);
    if (!pack_refusal(damaged).empty()) continue;
    const ImagePack pack(damaged);
    bool found = false;
    for (std::int64_t i = 0; i < pack.size() && !found; ++i) {
      found = !test::message_of<DataError>([&] { bytes_of(pack, i); }).empty();
      Sample now;
      if (found && pack.read_now(i, now)) ++unseen;
    }
    if (!found) ++unseen;
  }
  CHECK(unseen == 0);
}

TEST_CASE("a pack that is cut off anywhere is refused") {
  test::TemporaryFolder root;
  write_photographs(root / "data");
  pack_images(ImageFolder(root / "data"), {.file = root / "data.pack"});
  const Bytes whole = file_bytes(root / "data.pack");
  for (std::size_t cut = 0; cut < whole.size(); cut += 997) {
    CAPTURE(cut);
    write_bytes(root / "cut.pack",
                Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut)));
    CHECK_FALSE(pack_refusal(root / "cut.pack").empty());
  }
  write_bytes(root / "long.pack", [&] {
    Bytes bytes = whole;
    bytes.resize(bytes.size() + 10);
    return bytes;
  }());
  CHECK(contains(pack_refusal(root / "long.pack"), "bytes as when it was written"));
}

TEST_CASE("a pack that lies with right checksums is refused by name") {
  test::TemporaryFolder root;
  write_photographs(root / "data");
  pack_images(ImageFolder(root / "data"), {.file = root / "data.pack"});
  const auto forged = [&](const std::function<void(Bytes&)>& change) {
    forge(root / "data.pack", root / "forged.pack", change);
    return pack_refusal(root / "forged.pack");
  };
  const auto field = [&](std::size_t i, std::size_t at, auto value) {
    return forged([=](Bytes& bytes) { put(bytes, entry(i) + at, value); });
  };
  constexpr std::uint64_t huge = ~std::uint64_t{0};
  CHECK(forged([](Bytes&) {}).empty());
  CHECK(contains(field(3, 0, huge - 4095), "entry 3: record must lie"));
  CHECK(contains(field(3, 0, std::uint64_t{4096}), "entry 3: record must lie"));
  CHECK(contains(field(3, 0, std::uint64_t{4097}), "be aligned"));
  CHECK(contains(field(12, 8, std::uint64_t{1} << 30), "inside the file"));
  CHECK(contains(field(3, 8, std::uint64_t{20000}), "entry 4: record must lie behind"));
  CHECK(contains(field(3, 8, huge), "1 to 2^31"));
  CHECK(contains(field(3, 8, std::uint64_t{0}), "1 to 2^31"));
  CHECK(contains(field(3, 16, std::uint64_t{5}), "1 to 2^31"));
  CHECK(contains(field(3, 32, std::int64_t{2}), "label"));
  CHECK(contains(field(3, 32, std::int64_t{-1}), "label"));
  CHECK(contains(field(3, 40, std::int64_t{0}), "group"));
  CHECK(contains(field(3, 48, -1.0), "weight"));
  CHECK(contains(field(3, 56, huge), "name"));
  CHECK(contains(field(3, 56, std::uint64_t{0}), "name"));
  CHECK(contains(field(3, 64, std::uint32_t{70000}), "sides must be"));
  CHECK(contains(field(3, 72, std::uint8_t{9}), "kind"));
  CHECK(contains(field(3, 72, std::uint8_t{0}), "must have been written"));
  const auto header = [&](std::size_t at, auto value) {
    return forged([=](Bytes& bytes) { put(bytes, at, value); });
  };
  CHECK(contains(header(8, std::uint32_t{3}), "version 1 or 2, got 3"));
  CHECK(contains(header(12, std::uint32_t{3}), "alignment"));
  CHECK(contains(header(16, huge / 80), "as long as its records need"));
  CHECK(contains(header(16, std::uint64_t{0}), "as long as its records need"));
  CHECK(contains(header(32, huge - 4095), "sections"));
  CHECK(contains(header(40, huge - 4095), "sections"));
  CHECK(contains(header(48, std::uint64_t{4096}), "sections"));
  CHECK(contains(header(56, std::uint64_t{0}), "finished"));
  CHECK(contains(header(72, ~std::uint32_t{0}), "names"));
  CHECK(contains(header(88, std::uint32_t{1 | 16}), "split must be a known one"));
  CHECK(contains(header(92, ~std::uint32_t{0}), "names"));
  CHECK(contains(header(92, std::uint32_t{1}), "label must be that of a class"));
  CHECK(contains(header(92, std::uint32_t{2}), "names must not end early"));
  CHECK(contains(field(3, 74, std::uint8_t{1}), "split must be a known one"));
  // What came before label sets and splits is the same without them.
  CHECK(header(8, std::uint32_t{1}).empty());
}

TEST_CASE("a pack that shrinks after it was opened gives errors, not crashes") {
  test::TemporaryFolder root;
  write_photographs(root / "data");
  pack_images(ImageFolder(root / "data"), {.file = root / "data.pack"});
  const ImagePack pack(root / "data.pack");
  fs::resize_file(root / "data.pack", fs::file_size(root / "data.pack") / 2);
  CHECK(contains(test::message_of<DataError>([&] { bytes_of(pack, 12); }), "ends after"));
}
