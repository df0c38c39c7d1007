// What do the parts of the surface job's loss and score cost? The soft skeleton beside the
// published poolings, and pairs of a crop and the score of a volume beside a copy of as many bytes.
#include <headrace/benchmarks/harness/harness.h>
#include <headrace/benchmarks/harness/options.h>
#include <headrace/benchmarks/harness/report.h>
#include <headrace/engine/base/random.h>
#include <headrace/models/losses/cubical_persistence.h>
#include <headrace/models/losses/soft_skeleton.h>
#include <headrace/models/metrics/mask_pair.h>
#include <headrace/models/metrics/surface_score.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/Functions.h>

using namespace headrace;
using namespace headrace::bench;

namespace {

at::Tensor smallest(const at::Tensor& x, at::IntArrayRef window, at::IntArrayRef padding) {
  return -at::max_pool3d(-x, window, {1, 1, 1}, padding);
}

at::Tensor eroded(const at::Tensor& x) {
  return at::min(at::min(smallest(x, {3, 1, 1}, {1, 0, 0}), smallest(x, {1, 3, 1}, {0, 1, 0})),
                 smallest(x, {1, 1, 3}, {0, 0, 1}));
}

// As clDice is published, of three erosions.
at::Tensor by_poolings(at::Tensor x) {
  const auto layer = [](const at::Tensor& of) {
    return at::relu(of - at::max_pool3d(eroded(of), {3, 3, 3}, {1, 1, 1}, {1, 1, 1}));
  };
  at::Tensor skeleton = layer(x);
  for (int i = 0; i < 3; ++i) {
    x = eroded(x);
    const at::Tensor more = layer(x);
    skeleton = skeleton + at::relu(more - skeleton * more);
  }
  return skeleton;
}

template <class Skeleton>
Contender step(std::string name, const at::Tensor& maps, Skeleton skeleton) {
  return {.name = std::move(name), .run = [maps, skeleton] {
            const at::Tensor x = maps.detach().requires_grad_();
            skeleton(x).sum().backward();
            return static_cast<double>(maps.size(0));
          }};
}

// Sheets of four voxels every forty, and noise.
std::vector<std::uint8_t> sheets(std::int64_t side, double noise, std::uint64_t seed) {
  Random random(RandomKey{.seed = seed});
  std::vector<std::uint8_t> made;
  for (std::int64_t z = 0; z < side; ++z)
    for (std::int64_t rest = 0; rest < side * side; ++rest)
      made.push_back((z % 40 < 4) != (random.uniform() < noise) ? 1 : 0);
  return made;
}

Contender copy(std::size_t bytes) {
  return {.name = "a copy of as many bytes",
          .run = [from = std::vector<std::uint8_t>(bytes, 1),
                  to = std::vector<std::uint8_t>(bytes)]() mutable {
            to = from;
            from[0] = to.back();
            return 1.0;
          }};
}

void skeletons(Report& report, int repeats, std::int64_t side) {
  at::manual_seed(1);
  const at::Tensor maps = at::rand({2, 1, side, 2 * side, 2 * side});
  const auto rates = compare(
      {step("ours", maps, [](const at::Tensor& x) { return models::soft_skeleton(x); }),
       step("the published poolings", maps, [](const at::Tensor& x) { return by_poolings(x); })},
      repeats);
  report.add("soft skeleton, forward and backward", "patches/s", rates, "the published poolings");
}

void pairs(Report& report, int repeats, std::int64_t side) {
  std::vector<float> values;
  Random random(RandomKey{.seed = 2});
  for (std::int64_t i = 0; i < side * side * side; ++i)
    values.push_back(static_cast<float>(random.uniform()));
  const std::array<std::int64_t, 3> shape{side, side, side};
  report.add("pairs of noise in a crop of " + std::to_string(side) + " cubed, one core", "crops/s",
             compare({{.name = "GUDHI",
                       .run =
                           [&] {
                             models::cubical_persistence(values, shape);
                             return 1.0;
                           }},
                      copy(values.size() * sizeof(float))},
                     repeats),
             "a copy of as many bytes");
}

void scores(Report& report, int repeats, std::int64_t side, double noise) {
  const std::vector<std::uint8_t> predicted = sheets(side, noise, 3),
                                  truth = sheets(side, noise, 4);
  const std::string what = noise == 0.0 ? "clean sheets" : "sheets in noise of a half";
  report.add("score of " + std::to_string(side) + " cubed, " + what, "volumes/s",
             compare({{.name = "the whole score",
                       .run =
                           [&] {
                             const models::MaskPair pair(predicted, truth, {side, side, side});
                             models::surface_score(pair);
                             return 1.0;
                           }},
                      copy(predicted.size() * 2)},
                     repeats),
             "a copy of as many bytes");
}

}  // namespace

int main(int argc, char** argv) {
  Options options("surface_parts_benchmark",
                  "what do the parts of the surface job's loss and score cost?");
  options.add("repeats", "5", "rounds of each comparison")
      .add_flag("dry", "small, to see that it works")
      .add_json();
  options.parse(argc, argv);
  Report report("surface_parts", options);
  const bool dry = options.is_set("dry");
  if (dry) report.mark_dry();
  const int repeats = dry ? 1 : options.number("repeats");
  skeletons(report, repeats, dry ? 8 : 68);
  pairs(report, repeats, dry ? 8 : 32);
  pairs(report, repeats, dry ? 12 : 48);
  for (const double noise : {0.0, 0.5})
    scores(report, repeats, dry ? 24 : 320, noise);
}
