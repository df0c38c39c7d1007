// A file that we keep beside the data, of any content and with the right checksum, gives what is in
// bounds, or counts as none: a chunk index of an HDF5 file, and a listing of images. (A crop index
// and a pack are pack_target.cpp's; a decoded cache has no file that others could write.)
//
// Input: which file (1 byte), then changes to a sound one (edits.h).
#include <headrace/engine/base/printable.h>
#include <headrace/loaders/hdf5/detail/chunk/chunk_index_file.h>
#include <headrace/loaders/image/detail/list/listing_cache.h>
#include <headrace/tests/fuzz/edits.h>
#include <headrace/tests/fuzz/finding.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <libdeflate.h>

using namespace headrace;
using detail::ChunkIndexFile;
using detail::ChunkPlace;
using detail::ImageListing;
using Bytes = std::vector<std::byte>;

namespace {

Bytes read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

void write_file(const std::filesystem::path& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

void put_checksum(Bytes& file, std::size_t at, std::size_t first, std::size_t last) {
  if (last > file.size() || first > last || at + 4 > file.size()) return;
  const std::uint32_t sum = libdeflate_crc32(0, file.data() + first, last - first);
  std::memcpy(file.data() + at, &sum, sizeof sum);
}

/// Where the checksum of head and directory stands in a chunk index.
std::size_t checksum_place(const Bytes& index) {
  if (index.size() < 48) return 0;
  std::uint32_t directory = 0;
  std::memcpy(&directory, index.data() + 40, sizeof directory);
  return 44 + std::size_t{directory};
}

/// A chunk index of two datasets.
class ChunkIndexes {
 public:
  explicit ChunkIndexes(const test::TemporaryFolder& folder) : data_file_(folder / "x.h5") {
    write_file(data_file_, Bytes(16'384, std::byte{7}));
    ChunkIndexFile file(data_file_, identity);
    file.put("/a [70, 10]", std::vector<ChunkPlace>(5, {.offset = 4096, .bytes = 100}));
    file.put("/b [3]", std::vector<ChunkPlace>(3, {.offset = 8192, .bytes = 7, .skipped = 1}));
    file.save();
    sound_ = read_file(ChunkIndexFile::path_of(data_file_));
  }

  void run(std::span<const std::uint8_t> edits) const {
    Bytes file = test::edited(sound_, edits);
    put_checksum(file, checksum_place(file), 0, checksum_place(file));
    write_file(ChunkIndexFile::path_of(data_file_), file);
    ChunkIndexFile index(data_file_, identity);
    for (const char* key : {"/a [70, 10]", "/b [3]", ""}) {
      for (const std::size_t chunks : {0, 3, 5}) {
        const auto* places = index.find(key, chunks);
        if (places != nullptr && places->size() != chunks)
          test::finding("an index has another number of chunks than was asked for");
      }
    }
  }

 private:
  static constexpr detail::FileIdentity identity{10'000, 1, 2, 3};

  std::filesystem::path data_file_;
  Bytes sound_;
};

/// A listing of five images with everything that may be known of them.
class Listings {
 public:
  explicit Listings(const test::TemporaryFolder& folder) : cache_(folder / "listing") {
    std::filesystem::remove(cache_);
    const std::filesystem::path made_from = folder / "list.csv";
    write_file(made_from, Bytes(100, std::byte{'x'}));
    detail::cached_listing({.cache = cache_}, subject, [&](auto& seen) {
      seen.proofs.push_back(detail::file_proof(made_from.native()));
      seen.passed_over.add("hidden");
      return sound_listing();
    });
    sound_ = read_file(cache_);
  }

  void run(std::span<const std::uint8_t> edits) const {
    Bytes file = test::edited(sound_, edits);
    if (file.size() >= 24) {
      const std::uint64_t length = file.size() - 24;
      std::memcpy(file.data() + 8, &length, sizeof length);
      put_checksum(file, 16, 24, file.size());
    }
    write_file(cache_, file);
    struct NotUsed {};
    try {
      const auto listing = detail::cached_listing({.cache = cache_}, subject,
                                                  [](auto&) -> ImageListing { throw NotUsed{}; });
      use(*listing);
    } catch (const NotUsed&) {
    }
  }

 private:
  static ImageListing sound_listing() {
    ImageListing listing;
    listing.images.root = listing.masks.root = "/data";
    for (std::uint64_t i = 0; i < 5; ++i) {
      listing.images.add("a/" + std::to_string(i) + ".jpg", 100 + i);
      listing.masks.add("m/" + std::to_string(i) + ".png", 10 + i);
    }
    listing.values.classes = {"cat", "dog"};
    listing.values.labels = {0, 1, 2, 2, 1};
    listing.values.set_classes = {0, 0, 1};
    listing.values.set_end = {0, 1, 3};
    listing.values.weights = {1, 2, 3, 4, 0.5};
    listing.values.group_names = {"g", "h"};
    listing.values.groups = {0, 0, 1, 1, 1};
    listing.values.splits.assign(5, DataSplit::train);
    return listing;
  }

  static void use(const ImageListing& listing) {
    if (listing.passed_over != printable(listing.passed_over))
      test::finding("what is left out has bytes that are not printed");
    for (std::size_t i = 0; i < listing.images.size(); ++i) {
      if (listing.images.path(i).empty()) test::finding("an image has no path");
      if (listing.masks.size() > 0 && listing.masks.path(i).empty())
        test::finding("a mask has no path");
      Sample sample;
      listing.values.fill(i, sample);
      if (listing.values.labels.empty()) continue;
      for (const std::int32_t label : listing.values.label_set(i)) {
        if (label < 0 || static_cast<std::size_t>(label) >= listing.values.classes.size())
          test::finding("a label has no class");
      }
    }
  }

  inline static const detail::ListingSubject subject{"pictures"};

  std::filesystem::path cache_;
  Bytes sound_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const test::TemporaryFolder folder;
  static const ChunkIndexes indexes(folder);
  static const Listings listings(folder);
  if (size == 0) return 0;
  const std::span<const std::uint8_t> edits(data + 1, size - 1);
  if (data[0] % 2 == 0) {
    indexes.run(edits);
  } else {
    listings.run(edits);
  }
  return 0;
}
