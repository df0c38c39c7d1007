// A crop index of any content, its checksum made right, behind a sound JPEG, its own or another's.
// What is decoded at its own size is the JPEG's pixels; of an index that stands the check every
// window is, too; all else is a DataError, the same again.
//
// Input: which JPEG, whose index, whether its places are made those of the JPEG (a byte each), then
// changes to the index (edits.h).
#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/tests/fuzz/decode_views.h>
#include <headrace/tests/fuzz/pack_edits.h>

#include <cstdint>
#include <cstring>
#include <string>

using namespace headrace;
using test::PackBytes;

namespace {

constexpr std::size_t footer = 48;
constexpr std::size_t places = 16;  // in the footer: bytes of the JPEG, begin of its coded data
constexpr std::size_t place_bytes = 8;

std::size_t jpeg_bytes(const PackBytes& file) {
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, file.data() + file.size() - footer + places, sizeof bytes);
  return bytes;
}

struct Pair {
  PackBytes jpeg;
  PackBytes both;
};

Pair make_pair(const std::uint8_t* which, std::span<const std::uint8_t> edits) {
  const PackBytes own = test::pack_seed(1 + which[0] % (test::pack_seeds - 1));
  const PackBytes other = test::pack_seed(1 + which[1] % (test::pack_seeds - 1));
  const auto index_of = [](const PackBytes& file) {
    return file.begin() + static_cast<std::ptrdiff_t>(jpeg_bytes(file));
  };
  PackBytes index(index_of(other), other.end());
  if (which[2] % 2 == 1) {
    std::memcpy(index.data() + index.size() - footer + places,
                own.data() + own.size() - footer + places, place_bytes);
  }
  index = test::edited(std::move(index), edits);
  Pair pair{{own.begin(), index_of(own)}, {own.begin(), index_of(own)}};
  pair.both.insert(pair.both.end(), index.begin(), index.end());
  test::repair_crop_index(pair.both);
  return pair;
}

bool stands_the_check(const PackBytes& file) {
  try {
    ImageDecoder::this_thread().check(file);
    return true;
  } catch (const DataError&) {
    return false;
  }
}

/// Whether a decode of the view gives pixels.
bool is_decoded(const std::string& outcome) {
  return !outcome.starts_with("JPEG: ");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const auto [jpeg, both] = make_pair(data, {data + 3, size - 3});
  const bool sound = stands_the_check(both);
  // Then the whole is decoded without the index.
  const bool upright = ImageDecoder::this_thread().open(jpeg).orientation == 1;
  for (std::uint64_t view = 0; view < test::decoded_views; ++view) {
    const std::string first = test::decode_view(both, view);
    const bool alone = upright && view == 0 && is_decoded(first);
    if ((sound || alone) && first != test::decode_view(jpeg, view))
      test::finding("pixels behind a crop index are not the JPEG's own");
    test::decode_view(test::pack_seed(1 + view % 2), view);
    if (test::decode_view(both, view) != first)
      test::finding("a crop index gives something else the second time");
  }
  return 0;
}
