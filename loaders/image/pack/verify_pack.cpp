#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/image/crop.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/loaders/image/pack/verify_pack.h>
#include <headrace/loaders/internal/in_parallel.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace headrace::inline v1 {
namespace {

constexpr std::size_t most_problems = 100;

/// For each record of the pack, its place among the originals.
std::vector<std::int64_t> match(const ImagePack& pack, const ListedImages& originals) {
  std::vector<std::int64_t> places;
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < pack.size(); ++i) {
    while (at < originals.size() && originals.path(at) != pack.record(i).name)
      ++at;
    if (at == originals.size()) {
      throw DataError("[pack verify] " + pack.origin(i) + " of " + pack.name() +
                      " must be among the originals, in their order; got " + originals.name());
    }
    places.push_back(at++);
  }
  return places;
}

/// One worker's decoders and memory.
class Checker {
 public:
  Checker(const ImagePack& pack, const ListedImages* originals, const PackCheckOptions& options)
      : pack_(pack), originals_(originals), options_(options) {}

  /// What is wrong with a record; empty when nothing is. Counts crops.
  std::string problem(std::int64_t index, std::int64_t original, std::int64_t& crops) {
    try {
      pack_.read(index, packed_);
      check_image(pack_.record(index));
      if (pack_.has_masks()) check_mask();
      if (originals_ == nullptr || pack_.record(index).content == ImagePack::Content::shrunk)
        return {};
      originals_->read(original, source_);
      if (pack_.has_masks() && !same_bytes("mask")) return "mask is not that of the original";
      if (pack_.record(index).content == ImagePack::Content::original && !same_bytes("image"))
        return "bytes are not those of the original";
      for (int i = 0; i < options_.crops; ++i, ++crops) {
        if (!same_crop(index, i)) return "pixels of a crop are not those of the original";
      }
    } catch (const DataError& error) {
      return error.what();
    }
    return {};
  }

 private:
  bool same_bytes(std::string_view field) const {
    const auto a = packed_[field].as_bytes();
    const auto b = source_[field].as_bytes();
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

  void check_image(const ImagePack::Record& record) {
    const ImageHeader header = ours_.check(packed_["image"].as_bytes());
    if (header.shown_width() == record.width && header.shown_height() == record.height) return;
    const auto sides = [](int width, int height) {
      return std::to_string(width) + " x " + std::to_string(height);
    };
    throw DataError("sides must be the " + sides(record.width, record.height) +
                    " pixels of the pack's index, got " +
                    sides(header.shown_width(), header.shown_height()));
  }

  void check_mask() {
    try {
      ours_.check(packed_["mask"].as_bytes());
    } catch (const DataError& error) {
      throw DataError(std::string("mask: ") + error.what());
    }
  }

  bool same_crop(std::int64_t index, int number) {
    const RandomKey key{
        .seed = options_.seed, .position = index, .attempt = static_cast<std::uint32_t>(number)};
    // Small targets decode at 1/8 to 1/2, large ones at full size.
    const int side = std::array{32, 96, 224, 640}[static_cast<std::size_t>(number) % 4];
    ImageDecoder* decoders[2] = {&ours_, &theirs_};
    const Sample* samples[2] = {&packed_, &source_};
    for (std::size_t which = 0; which < 2; ++which) {
      Random random(key);
      const ImageHeader header = decoders[which]->open((*samples[which])["image"].as_bytes());
      const ImageWindow window = place(RandomResizedCrop{.height = side, .width = side},
                                       header.shown_width(), header.shown_height(), random);
      pixels_[which].resize(3 * static_cast<std::size_t>(side) * static_cast<std::size_t>(side));
      decoders[which]->decode(window, {.rgb = pixels_[which].data(),
                                       .height = side,
                                       .width = side,
                                       .flip = random.chance(0.5)});
    }
    return pixels_[0] == pixels_[1];
  }

  const ImagePack& pack_;
  const ListedImages* originals_;
  const PackCheckOptions& options_;
  Sample packed_;
  Sample source_;
  ImageDecoder ours_;
  ImageDecoder theirs_;
  std::array<std::vector<std::uint8_t>, 2> pixels_;
};

}  // namespace

PackCheck verify_pack(const ImagePack& pack, const ListedImages* originals,
                      const PackCheckOptions& options) {
  if (options.threads < 1 || options.crops < 1)
    throw ConfigError("[pack verify] threads and crops must be at least 1");
  std::vector<std::int64_t> places(static_cast<std::size_t>(pack.size()));
  if (originals != nullptr) places = match(pack, *originals);
  PackCheck check;
  std::vector<std::pair<std::int64_t, std::string>> problems;
  std::mutex mutex;
  const auto make = [&] {
    auto checker = std::make_unique<Checker>(pack, originals, options);
    return [&, checker = std::move(checker)](std::size_t place) {
      if (options.stop.stop_requested()) return;
      const auto i = static_cast<std::int64_t>(place);
      std::int64_t crops = 0;
      std::string problem = checker->problem(i, places[place], crops);
      const std::lock_guard lock(mutex);
      ++check.records;
      check.crops += crops;
      if (pack.record(i).content == ImagePack::Content::shrunk) ++check.shrunk;
      if (!problem.empty()) problems.emplace_back(i, std::move(problem));
      if (options.on_progress) options.on_progress(check.records);
    };
  };
  detail::in_parallel(places.size(), static_cast<std::size_t>(options.threads), make);
  check.damaged = static_cast<std::int64_t>(problems.size());
  std::sort(problems.begin(), problems.end());
  for (std::size_t i = 0; i < std::min(problems.size(), most_problems); ++i)
    check.problems.push_back(pack.origin(problems[i].first) + ": " + problems[i].second);
  return check;
}

}  // namespace headrace::inline v1
