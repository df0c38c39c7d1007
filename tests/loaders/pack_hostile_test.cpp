#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_folder.h>
#include <headrace/loaders/image/pack/detail/pack_format.h>
#include <headrace/loaders/image/pack/image_pack.h>
#include <headrace/loaders/image/pack/pack_images.h>
#include <headrace/loaders/image/pack/verify_pack.h>
#include <headrace/tests/loaders/file_bytes.h>
#include <headrace/tests/loaders/gathered.h>
#include <headrace/tests/loaders/image_files.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using detail::PackEntry;
using detail::PackFormat;
using detail::PackHeader;
using test::Bytes;
using test::file_bytes;
using test::write_bytes;
namespace fs = std::filesystem;

namespace {

Bytes packed_pictures(const fs::path& root) {
  for (const char* name : {"cat/1.png", "cat/2.png", "dog/3.png"}) {
    fs::create_directories((root / name).parent_path());
    write_bytes(root / name, test::encode_png({.width = 8, .height = 8}, test::picture(8, 8, 3),
                                              std::size_t{3} * 8));
  }
  pack_images(ImageFolder(root), {.file = root / "sound.pack"});
  return file_bytes(root / "sound.pack");
}

/// A sparse file: the pack's index and names, then `hole` zeros that are said to be names, too.
void write_sparse(const fs::path& to, Bytes pack, std::uint64_t hole, std::uint32_t classes) {
  PackHeader header = PackHeader::decode(std::span(pack).first(PackFormat::page));
  header.names_bytes += hole;
  header.data_offset += hole;
  header.file_bytes += hole;
  header.classes = classes;
  std::byte* index = pack.data() + PackFormat::page;
  for (std::uint64_t i = 0; i < header.records; ++i) {
    PackEntry entry = PackEntry::decode(index + i * PackFormat::entry_bytes);
    entry.offset += hole;
    entry.encode(index + i * PackFormat::entry_bytes);
  }
  header.index_checksum = detail::checksum_of(index, header.index_bytes);
  const auto page = header.encode();
  std::memcpy(pack.data(), page.data(), page.size());
  write_bytes(to, pack);
  fs::resize_file(to, header.file_bytes);
}

/// The most memory that the process has held, in bytes.
std::uint64_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) return kibibytes << 10;
  }
  return 0;
}

/// Changes record `number` and its image and makes every checksum of the pack right again.
void forge_record(Bytes& pack, std::size_t number,
                  const std::function<void(PackEntry&, std::span<std::byte>)>& change) {
  PackHeader header = PackHeader::decode(std::span(pack).first(PackFormat::page));
  std::byte* index = pack.data() + PackFormat::page;
  std::byte* at = index + number * PackFormat::entry_bytes;
  PackEntry entry = PackEntry::decode(at);
  const std::span image = std::span(pack).subspan(entry.offset, entry.image_bytes);
  change(entry, image);
  entry.image_checksum = detail::checksum_of(image.data(), image.size());
  entry.encode(at);
  header.index_checksum = detail::checksum_of(index, header.index_bytes);
  const auto page = header.encode();
  std::memcpy(pack.data(), page.data(), page.size());
}

/// Turns a bit of the crop index's entries over, and makes its checksum right again.
void forge_crop_index(PackEntry& /*entry*/, std::span<std::byte> file) {
  constexpr std::size_t footer_bytes = 48;
  constexpr std::size_t checksum_at = 36;
  std::byte* footer = file.data() + file.size() - footer_bytes;
  std::uint32_t jpeg_bytes = 0;
  std::memcpy(&jpeg_bytes, footer + 16, sizeof jpeg_bytes);
  footer[-9] ^= std::byte{4};
  const std::uint32_t checksum = detail::checksum_of(
      file.data() + jpeg_bytes, file.size() - footer_bytes - jpeg_bytes + checksum_at);
  std::memcpy(footer + checksum_at, &checksum, sizeof checksum);
}

}  // namespace

TEST_CASE("a pack whose checksums are right but whose crop index is forged is named") {
  const test::TemporaryFolder root;
  for (const char* name : {"1.jpg", "2.jpg", "3.jpg"})
    write_bytes(root / "cat" / name,
                test::encode_jpeg({.width = 200, .height = 160}, test::picture(200, 160, 3)));
  pack_images(ImageFolder(root.path()), {.file = root / "sound.pack", .crop_index = true});
  Bytes pack = file_bytes(root / "sound.pack");
  CHECK(verify_pack(ImagePack(root / "sound.pack"), nullptr).damaged == 0);
  forge_record(pack, 1, forge_crop_index);
  write_bytes(root / "forged.pack", pack);
  const PackCheck check = verify_pack(ImagePack(root / "forged.pack"), nullptr);
  CHECK(check.damaged == 1);
  REQUIRE(check.problems.size() == 1);
  CAPTURE(check.problems.front());
  CHECK(test::contains(check.problems.front(), "2.jpg: JPEG: the crop index is damaged"));
}

TEST_CASE("a record whose sides are forged in the pack's index is named") {
  const test::TemporaryFolder root;
  Bytes pack = packed_pictures(root / "");
  forge_record(pack, 2, [](PackEntry& entry, std::span<std::byte>) { entry.width = 9; });
  write_bytes(root / "forged.pack", pack);
  const PackCheck check = verify_pack(ImagePack(root / "forged.pack"), nullptr);
  REQUIRE(check.problems.size() == 1);
  CHECK(check.problems.front() ==
        "dog/3.png: sides must be the 9 x 8 pixels of the pack's index, got 8 x 8");
}

TEST_CASE("a sparse pack that claims a gigabyte of names takes no memory for them") {
  const test::TemporaryFolder root;
  const Bytes pack = packed_pictures(root / "");
  constexpr std::uint64_t hole = 1 << 30;
  for (const std::uint32_t classes : {2U, 1U << 20, (1U << 28) - 1}) {
    CAPTURE(classes);
    write_sparse(root / "sparse.pack", pack, hole, classes);
    CHECK(fs::file_size(root / "sparse.pack") > hole);
    const std::uint64_t before = peak_bytes();
    const std::string message =
        test::message_of<DataError>([&] { ImagePack(root / "sparse.pack"); });
    CAPTURE(message);
    const bool refused = test::contains(message, "names must not have a hole") ||
                         test::contains(message, "at most 4096 bytes");
    CHECK(refused);
    CHECK(peak_bytes() - before < (std::uint64_t{16} << 20));
  }
}

TEST_CASE("the same without a hole is a sound pack") {
  const test::TemporaryFolder root;
  write_sparse(root / "again.pack", packed_pictures(root / ""), 0, 2);
  CHECK(ImagePack(root / "again.pack").size() == 3);
}
