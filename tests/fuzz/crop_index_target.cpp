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

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

using namespace headrace;
using test::PackBytes;

namespace {

constexpr std::size_t kinds = test::pack_seeds - 1;  // of JPEGs
constexpr std::size_t footer = 48;
constexpr std::size_t places = 16;  // in the footer: bytes of the JPEG, begin of its coded data
constexpr std::size_t place_bytes = 8;

std::size_t jpeg_bytes(const PackBytes& file) {
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, file.data() + file.size() - footer + places, sizeof bytes);
  return bytes;
}

/// A sound JPEG without its index, and its views.
struct Alone {
  PackBytes jpeg;
  bool upright = false;
  std::vector<std::string> views{};
};

Alone make_alone(const PackBytes& seed) {
  Alone alone{{seed.begin(), seed.begin() + static_cast<std::ptrdiff_t>(jpeg_bytes(seed))}};
  alone.upright = ImageDecoder::this_thread().open(alone.jpeg).orientation == 1;
  for (std::uint64_t view = 0; view < test::decoded_views; ++view)
    alone.views.push_back(test::decode_view(alone.jpeg, view));
  return alone;
}

const Alone& alone_of(std::uint8_t which) {
  static std::array<std::optional<Alone>, kinds> known;
  std::optional<Alone>& alone = known[which % kinds];
  if (!alone) alone = make_alone(test::pack_seed(1 + which % kinds));
  return *alone;
}

PackBytes with_index(const std::uint8_t* which, std::span<const std::uint8_t> edits) {
  const PackBytes own = test::pack_seed(1 + which[0] % kinds);
  const PackBytes other = test::pack_seed(1 + which[1] % kinds);
  PackBytes index(other.begin() + static_cast<std::ptrdiff_t>(jpeg_bytes(other)), other.end());
  if (which[2] % 2 == 1) {
    std::memcpy(index.data() + index.size() - footer + places,
                own.data() + own.size() - footer + places, place_bytes);
  }
  index = test::edited(std::move(index), edits);
  PackBytes file = alone_of(which[0]).jpeg;
  file.insert(file.end(), index.begin(), index.end());
  test::repair_crop_index(file);
  return file;
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
  const Alone& alone = alone_of(data[0]);
  const PackBytes file = with_index(data, {data + 3, size - 3});
  const bool sound = stands_the_check(file);
  std::vector<std::string> views;
  for (std::uint64_t view = 0; view < test::decoded_views; ++view) {
    views.push_back(test::decode_view(file, view));
    // The whole as it is stored is decoded without the index.
    const bool without = alone.upright && view == 0 && is_decoded(views.back());
    if ((sound || without) && views.back() != alone.views[view])
      test::finding("pixels behind a crop index are not the JPEG's own");
  }
  test::decode_views(test::pack_seed(1 + data[1] % 2));
  for (std::uint64_t view = 0; view < test::decoded_views; ++view)
    if (test::decode_view(file, view) != views[view])
      test::finding("a crop index gives something else the second time");
  return 0;
}
