#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/surface_score.h>

#include <string>

#include <oneapi/tbb/parallel_invoke.h>

namespace headrace::inline v1::models {

SurfaceScore surface_score(const MaskPair& pair, const SurfaceScoreOptions& options) {
  if (!(options.alpha >= 0.0)) {
    throw ConfigError("[surface score] alpha must be 0 or more, got " +
                      std::to_string(options.alpha));
  }
  SurfaceScore score;
  oneapi::tbb::parallel_invoke([&] { score.topology = topology_score(pair); },
                               [&] { score.information = variation_of_information(pair); },
                               [&] {
                                 score.surface = surface_dice(pair, {&options.tolerance, 1});
                               });
  score.information_score = score.information.score(options.alpha);
  const double others = 0.35 * score.surface.at[0].dice + 0.35 * score.information_score;
  score.value = 0.30 * score.topology.value + others;
  score.least = 0.30 * score.topology.least + others;
  score.most = 0.30 * score.topology.most + others;
  return score;
}

}  // namespace headrace::inline v1::models
