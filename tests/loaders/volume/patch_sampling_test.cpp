// Shares of drawn patches against their definitions: 10,000 draws, within four standard errors.
#include <headrace/engine/base/error.h>
#include <headrace/engine/headrace.h>
#include <headrace/engine/sample/expanded.h>
#include <headrace/loaders/volume/volume_patches.h>

#include "made_volume.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

constexpr int sampling_draws = 10000;
constexpr VolumeInfo head{.shape = {1, 20, 18, 22}, .block = {1, 8, 8, 8}};

using Number = std::function<double(const VolumeIndex&)>;
using Places = std::vector<VolumeIndex>;

template <class T>
std::shared_ptr<const CachedVolume> cached(const Number& number, const VolumeInfo& info = head) {
  return std::make_shared<const CachedVolume>(
      std::make_shared<const MadeVolume<T>>(
          info, [number](const VolumeIndex& at) { return static_cast<T>(number(at)); }),
      std::make_shared<BlockCache>(1 << 20));
}

/// 1 and 2 in two corners, 9 (ignored) in a slab, else 0.
int drawn_label_at(const VolumeIndex& at) {
  if (at[1] >= 12 && at[1] < 15) return 9;
  if (at[1] < 3 && at[2] < 5 && at[3] < 7) return 1;
  return at[1] >= 17 && at[2] >= 10 && at[3] >= 16 ? 2 : 0;
}

/// 0 to 4; 0 in a fifth of the volume.
double weight_at(const VolumeIndex& at) {
  return static_cast<double>((at[1] + 2 * at[2] + 3 * at[3]) % 5);
}

/// The voxels' numbers are their places.
VolumeCase numbered_case() {
  VolumeCase of{
      .name = "case",
      .images = {cached<float>([](const VolumeIndex& at) {
        return static_cast<double>((at[1] * 18 + at[2]) * 22 + at[3]);
      })},
      .label = cached<std::uint8_t>([](const VolumeIndex& at) { return drawn_label_at(at); })};
  of.foreground = std::make_shared<const ForegroundIndex>(
      *of.label, ForegroundOptions{.labels = {0, 1, 2}, .ignore = 9});
  return of;
}

VolumeCase weighted_case() {
  VolumeCase of = numbered_case();
  of.weights = std::make_shared<const WeightMap>(cached<float>(weight_at));
  return of;
}

VolumePatchesOptions options_of(const std::array<std::int64_t, 3>& patch, double foreground) {
  VolumePatchesOptions options;
  options.patch = patch;
  options.seed = 5;
  options.sampling.foreground = foreground;
  options.sampling.most_ignored = 1.0;
  return options;
}

/// The first voxel of each patch.
Places begins_of(const VolumeCase& of, const VolumePatchesOptions& options) {
  const VolumePatches source({of}, options);
  const ResamplePatch resample = source.resample();
  Places begins;
  Sample sample;
  for (int i = 0; i < sampling_draws; ++i) {
    sample.reset();
    sample.origin() = {.index = 0, .epoch = 0, .position = i};
    source.read(0, sample);
    resample(sample);
    const auto number = static_cast<std::int64_t>(*sample["image"].data<float>());
    begins.push_back({0, number / (18 * 22), number / 22 % 18, number % 22});
  }
  return begins;
}

template <class Use>
void for_voxels(const VolumeIndex& shape, const Use& use) {
  VolumeIndex at{};
  for (at[1] = 0; at[1] < shape[1]; ++at[1])
    for (at[2] = 0; at[2] < shape[2]; ++at[2])
      for (at[3] = 0; at[3] < shape[3]; ++at[3])
        use(at);
}

/// What is counted of places: how many have each kind.
using Kind = std::function<std::int64_t(const VolumeIndex&)>;

/// Shares of kinds where each voxel is drawn by its weight.
std::map<std::int64_t, double> shares_of(const Kind& kind, const Number& weight) {
  std::map<std::int64_t, double> shares;
  double sum = 0.0;
  for_voxels(head.shape, [&](const VolumeIndex& at) {
    shares[kind(at)] += weight(at);
    sum += weight(at);
  });
  for (auto& [of, share] : shares)
    share /= sum;
  return shares;
}

/// Every kind came as often as its share says, within four standard errors, and no other.
bool fits(const Places& places, const Kind& kind, std::map<std::int64_t, double> shares) {
  std::map<std::int64_t, int> counts;
  for (const VolumeIndex& at : places)
    ++counts[kind(at)];
  for (const auto& [of, count] : counts)
    shares.try_emplace(of, 0.0);
  const auto all = static_cast<double>(places.size());
  for (const auto& [of, share] : shares) {
    const double error = std::sqrt(all * share * (1.0 - share));
    if (std::abs(counts[of] - all * share) > 4.0 * error) return false;
  }
  return true;
}

/// Chi-square of `cells` that are all as likely: its mean is cells - 1, its variance twice that.
bool is_even(const std::map<std::int64_t, int>& counts, double cells) {
  int all = 0;
  for (const auto& [cell, count] : counts)
    all += count;
  const double wanted = all / cells;
  double chi = (cells - static_cast<double>(counts.size())) * wanted;  // those that never came
  for (const auto& [cell, count] : counts)
    chi += (count - wanted) * (count - wanted) / wanted;
  return std::abs(chi - (cells - 1.0)) <= 4.0 * std::sqrt(2.0 * (cells - 1.0));
}

std::int64_t octant_of(const VolumeIndex& at) {
  return (at[1] >= 10 ? 4 : 0) + (at[2] >= 9 ? 2 : 0) + (at[3] >= 11 ? 1 : 0);
}

std::string epochs_of(const std::shared_ptr<const Source>& source, const ResamplePatch& resample,
                      int threads) {
  Loader loader = Pipeline::from(source)
                      .order(Shuffled{.seed = 3})
                      .then(resample)
                      .batch({.size = 4})
                      .build({.runtime = Runtime({.threads = threads})});
  std::string bytes;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (Batch& batch : loader.epoch(epoch)) {
      for (const char* field : {"image", "label"}) {
        const Tensor tensor = batch[field];
        bytes.append(static_cast<const char*>(tensor.raw()), tensor.bytes());
      }
    }
  }
  return bytes;
}

}  // namespace

TEST_CASE("A weight map draws each voxel by its weight, and never one of weight 0") {
  const Places places = begins_of(weighted_case(), options_of({1, 1, 1}, 0.0));
  const Kind by_weight = [](const VolumeIndex& at) {
    return static_cast<std::int64_t>(weight_at(at));
  };
  const auto shares = shares_of(by_weight, weight_at);
  CHECK(shares.at(0) == 0.0);
  CHECK(fits(places, by_weight, shares));
  CHECK(fits(places, octant_of, shares_of(octant_of, weight_at)));
  // The same judge finds places that no weights were asked for.
  const Places uniform = begins_of(numbered_case(), options_of({1, 1, 1}, 0.0));
  CHECK_FALSE(fits(uniform, by_weight, shares));
}

TEST_CASE("A weight map is of a class's samples no part, and of the others all") {
  VolumeCase of = numbered_case();
  const Number corner = [](const VolumeIndex& at) {
    return at[1] < 4 && at[2] > 8 && at[3] < 4 ? 1.0 : 0.0;
  };
  of.weights = std::make_shared<const WeightMap>(cached<std::uint8_t>(corner));
  VolumePatchesOptions options = options_of({1, 1, 1}, 0.25);
  options.sampling.classes = {2};
  const Kind kind = [&](const VolumeIndex& at) {
    return drawn_label_at(at) == 2 ? 2 : corner(at) > 0.0 ? 1 : 0;
  };
  CHECK(fits(begins_of(of, options), kind, {{0, 0.0}, {1, 0.75}, {2, 0.25}}));
}

TEST_CASE("Foreground has its share, its classes alike") {
  const double third = 1.0 / 3.0;
  VolumePatchesOptions options = options_of({1, 1, 1}, third);
  options.sampling.ignore = 9;
  auto shares = shares_of(drawn_label_at, [](const VolumeIndex&) { return 1.0; });
  for (auto& [label, share] : shares)
    share = share * (1.0 - third) + (label == 1 || label == 2 ? third / 2.0 : 0.0);
  CHECK(fits(begins_of(numbered_case(), options), drawn_label_at, shares));
  options.sampling.foreground = 0.4;
  CHECK_FALSE(fits(begins_of(numbered_case(), options), drawn_label_at, shares));
}

TEST_CASE("Labels are balanced where 0 is a class and all samples are of one") {
  VolumePatchesOptions options = options_of({1, 1, 1}, 1.0);
  options.sampling.ignore = 9;
  options.sampling.classes = {0, 1, 2};
  const std::map<std::int64_t, double> balanced{{0, 1 / 3.0}, {1, 1 / 3.0}, {2, 1 / 3.0}};
  const Places places = begins_of(numbered_case(), options);
  CHECK(fits(places, drawn_label_at, balanced));
  // Among the voxels of a label each is as likely.
  Places background;
  for (const VolumeIndex& at : places)
    if (drawn_label_at(at) == 0) background.push_back(at);
  const Number is_background = [](const VolumeIndex& at) {
    return drawn_label_at(at) == 0 ? 1.0 : 0.0;
  };
  CHECK(fits(background, octant_of, shares_of(octant_of, is_background)));
  options.sampling.classes = {};
  CHECK_FALSE(fits(begins_of(numbered_case(), options), drawn_label_at, balanced));
}

TEST_CASE("Uniform patches begin everywhere alike and cover every voxel") {
  const std::array<std::int64_t, 3> patch{14, 12, 17};
  const double places = 7.0 * 7.0 * 6.0;
  std::map<std::int64_t, int> begins;
  std::vector<int> covered(20 * 18 * 22, 0);
  for (const VolumeIndex& at : begins_of(numbered_case(), options_of(patch, 0.0))) {
    ++begins[(at[1] * 18 + at[2]) * 22 + at[3]];
    covered[static_cast<std::size_t>((at[1] * 18 + at[2]) * 22 + at[3])] = 1;
  }
  CHECK(begins.size() == static_cast<std::size_t>(places));
  CHECK(is_even(begins, places));
  int missed = 0;
  for_voxels(head.shape, [&](const VolumeIndex& at) {
    bool there = false;
    for (std::int64_t z = std::max<std::int64_t>(at[1] - 13, 0); z <= at[1] && !there; ++z)
      for (std::int64_t y = std::max<std::int64_t>(at[2] - 11, 0); y <= at[2] && !there; ++y)
        for (std::int64_t x = std::max<std::int64_t>(at[3] - 16, 0); x <= at[3] && !there; ++x)
          there = covered[static_cast<std::size_t>((z * 18 + y) * 22 + x)] != 0;
    missed += there ? 0 : 1;
  });
  CHECK(missed == 0);
  // Around uniform voxels, moved inside, patches at the edges are too many.
  std::map<std::int64_t, int> moved;
  for (int i = 0; i < sampling_draws; ++i) {
    Random random(RandomKey{.seed = 2, .position = i});
    const auto voxel = uniform_middle(head.shape, {1, 1, 1}, random);
    const auto middle = clamped_middle(head.shape, patch, voxel);
    ++moved[(middle[0] * 18 + middle[1]) * 22 + middle[2]];
  }
  CHECK_FALSE(is_even(moved, places));
}

TEST_CASE("Patches of too much that is ignored are drawn again, the others stay alike") {
  VolumePatchesOptions options = options_of({4, 5, 6}, 0.0);
  options.sampling.ignore = 9;
  options.sampling.most_ignored = 0.5;
  options.sampling.attempts = 50;
  const auto slices = [](std::int64_t z) {  // of the patch that are ignored
    return std::max<std::int64_t>(
        0, std::min<std::int64_t>(z + 4, 15) - std::max<std::int64_t>(z, 12));
  };
  std::map<std::int64_t, double> shares;
  for (std::int64_t z = 0; z <= 16; ++z)
    if (slices(z) <= 2) shares[z] = 1.0;
  for (auto& [z, share] : shares)
    share = 1.0 / static_cast<double>(shares.size());
  REQUIRE(shares.size() == 15);
  const Kind first = [](const VolumeIndex& at) { return at[1]; };
  CHECK(fits(begins_of(numbered_case(), options), first, shares));
  options.sampling.most_ignored = 1.0;
  CHECK_FALSE(fits(begins_of(numbered_case(), options), first, shares));
}

TEST_CASE("Drawn by weights, classes and chance, patches are the same for 1, 2 and 8 threads") {
  VolumePatchesOptions options = options_of({6, 5, 7}, 0.5);
  options.sampling.ignore = 9;
  options.sampling.most_ignored = 0.4;
  options.sampling.classes = {0, 1, 2};
  options.transform = {.rotation = 0.5, .scaling = 0.5, .mirror = {0.5, 0.5, 0.5}};
  const std::vector<VolumeCase> cases{weighted_case(), numbered_case(), weighted_case()};
  const auto source = std::make_shared<const VolumePatches>(cases, options);
  const auto each = std::make_shared<const Expanded>(source, 7);
  const std::string one = epochs_of(each, source->resample(), 1);
  CHECK(one.size() == std::size_t{2} * 21 * 6 * 5 * 7 * (4 + 1));
  for (const int threads : {2, 8})
    CHECK(epochs_of(each, source->resample(), threads) == one);
  const std::vector<VolumeCase> plain{numbered_case(), numbered_case(), numbered_case()};
  const auto unweighted = std::make_shared<const VolumePatches>(plain, options);
  CHECK(epochs_of(std::make_shared<const Expanded>(unweighted, 7), source->resample(), 2) != one);
}

TEST_CASE("A weight map knows its sum and reads one cell for a voxel") {
  VolumeInfo info = head;
  info.scale = 0.5;
  info.offset = 1.0;
  const auto made = std::make_shared<const MadeVolume<std::uint8_t>>(
      info, [](const VolumeIndex& at) { return static_cast<std::uint8_t>(weight_at(at)); });
  const auto cache = std::make_shared<BlockCache>(1 << 20);
  const WeightMap one(std::make_shared<const CachedVolume>(made, cache));
  double sum = 0.0;
  for_voxels(head.shape, [&](const VolumeIndex& at) { sum += weight_at(at) * 0.5 + 1.0; });
  CHECK(one.sum() == doctest::Approx(sum));
  const auto cold = std::make_shared<BlockCache>(1 << 20);
  const WeightMap many(std::make_shared<const CachedVolume>(made, cold), 4);
  CHECK(many.sum() == one.sum());
  for (int i = 0; i < 200; ++i) {
    Random random(RandomKey{.seed = 1, .position = i});
    Random same(RandomKey{.seed = 1, .position = i});
    const VolumeBox cell = one.cell_of(random);
    const VolumeIndex voxel = one.pick_voxel(random);
    CHECK(many.pick_voxel(same) == voxel);
    for (std::size_t axis = 0; axis < 4; ++axis) {
      CHECK(voxel[axis] >= cell.begin[axis]);
      CHECK(voxel[axis] < cell.end[axis]);
    }
  }
}

TEST_CASE("Patches by weights are not read now unless the cell of weights is there") {
  // Room for two blocks: the scan leaves the last ones.
  const auto made = std::make_shared<const MadeVolume<float>>(
      head, [](const VolumeIndex& at) { return at[1] < 8 ? 1.0F : 0.0F; });
  VolumeCase of = numbered_case();
  const auto cache = std::make_shared<BlockCache>(std::size_t{2} * 2048);
  of.weights = std::make_shared<const WeightMap>(std::make_shared<const CachedVolume>(made, cache));
  const VolumePatches source({of}, options_of({1, 1, 1}, 0.0));
  Sample sample;
  sample.origin() = {.index = 0, .epoch = 0, .position = 0};
  const int before = made->reads;
  CHECK_FALSE(source.read_now(0, sample));
  CHECK(made->reads == before);
}

TEST_CASE("Weights that cannot be are refused, naming volume and voxel") {
  const double inf = std::numeric_limits<double>::infinity();
  const auto refusal = [](double weight) {
    try {
      const WeightMap map(cached<float>([weight](const VolumeIndex& at) {
        return at == VolumeIndex{0, 3, 17, 20} ? weight : 1.0;
      }));
    } catch (const DataError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal(0.0).empty());
  for (const double weight : {-1.0, inf, -inf, std::nan("")}) {
    const std::string message = refusal(weight);
    CHECK(message.find("[weight map] made: a weight must be finite and not negative") == 0);
    CHECK(message.find("at voxel 3 17 20 (z y x)") != std::string::npos);
  }
  const Number none = [](const VolumeIndex&) { return 0.0; };
  CHECK_THROWS_WITH_AS(WeightMap(cached<float>(none)), doctest::Contains("0 everywhere"),
                       DataError);
  VolumeInfo two = head;
  two.shape[0] = 2;
  CHECK_THROWS_WITH_AS(WeightMap(cached<float>(weight_at, two)),
                       doctest::Contains("1 channel, got 2"), ConfigError);
  CHECK_THROWS_WITH_AS(WeightMap(cached<float>(weight_at), 0), doctest::Contains("threads must be"),
                       ConfigError);
  VolumeInfo smaller = head;
  smaller.shape[3] = 21;
  VolumeCase of = numbered_case();
  of.weights = std::make_shared<const WeightMap>(cached<float>(weight_at, smaller));
  CHECK_THROWS_WITH_AS(VolumePatches({of}, options_of({1, 1, 1}, 0.0)),
                       doctest::Contains("the weights of case case must have 20 x 18 x 22 voxels"),
                       ConfigError);
}

}  // namespace headrace::test
