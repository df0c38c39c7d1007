#include <headrace/apps/jobs/surface/surface_settings.h>
#include <headrace/engine/base/error.h>

#include <algorithm>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr const char* all = "all";
constexpr const char* largest = "largest";

template <class T>
void require_ascending(const char* key, const std::vector<T>& values) {
  const bool ascending =
      std::ranges::adjacent_find(values, std::ranges::greater_equal()) == values.end();
  if (!values.empty() && ascending) return;
  throw ConfigError(fmt::format(
      "[config] {} must be a list of one value or more, the least first, each once, got {}", key,
      values.empty() ? "[]" : "others"));
}

}  // namespace

void describe(Fields& fields, DecisionSettings& settings) {
  fields.key("thresholds", settings.thresholds,
             {.doc = "least probabilities that count", .above = 0.0, .below = 1.0});
  fields.key("smooth", settings.smooth,
             {.doc = "standard deviations of the Gaussian that smooths probabilities before",
              .unit = "voxels",
              .min = 0.0,
              .max = 16.0});
  fields.key("keep", settings.keep, {.doc = "of the components: all, largest"});
  fields.key("smallest", settings.smallest,
             {.doc = "components with fewer voxels go; 0: none", .unit = "voxels", .min = 0.0});
  fields.key("closing", settings.closing,
             {.doc = "radii of the ball that closes what is left; 0: none",
              .unit = "voxels",
              .min = 0.0,
              .max = 64.0});
}

void check(const DecisionSettings& settings) {
  require_ascending("decision.thresholds", settings.thresholds);
  require_ascending("decision.smooth", settings.smooth);
  require_ascending("decision.smallest", settings.smallest);
  require_ascending("decision.closing", settings.closing);
  require_ascending("decision.keep", settings.keep);
  for (const std::string& word : settings.keep)
    if (word != all && word != largest)
      throw ConfigError(fmt::format(
          "[config] decision.keep must be a list of all and largest, got \"{}\"", word));
}

std::vector<VolumeDecision> candidates_of(const DecisionSettings& settings) {
  std::vector<VolumeDecision> made;
  for (const int closing : settings.closing)
    for (const std::int64_t smallest : settings.smallest)
      for (const std::string& keep : settings.keep)
        for (const double smooth : settings.smooth)
          for (const double threshold : settings.thresholds)
            made.push_back({.smooth = smooth,
                            .threshold = threshold,
                            .smallest = smallest,
                            .largest_only = keep == largest,
                            .closing = closing,
                            .of_prepared = true});
  return made;
}

void describe(Fields& fields, ScoreSettings& settings) {
  fields.key("tolerances", settings.tolerances,
             {.doc = "of the surface Dice of the test, beside the leaderboard's 2",
              .unit = "voxels",
              .above = 0.0,
              .max = 31.0});
}

void check(const ScoreSettings& settings) {
  require_ascending("score.tolerances", settings.tolerances);
  constexpr std::size_t most = 64;
  if (settings.tolerances.size() > most)
    throw ConfigError(fmt::format("[config] score.tolerances must be at most {}, got {}", most,
                                  settings.tolerances.size()));
}

std::string figure_of(double tolerance) {
  return fmt::format("surface_dice_{:g}", tolerance);
}

}  // namespace headrace::inline v1::app
