#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/metrics/mask_pair.h>
#include <headrace/models/metrics/surface_dice.h>
#include <headrace/models/metrics/topology_score.h>
#include <headrace/models/metrics/variation_of_information.h>

namespace headrace::inline v1::models {

struct SurfaceScoreOptions {
  double tolerance = 2.0;  ///< of the surface Dice, in voxels
  double alpha = 0.3;      ///< of the score of the variation of information, 0 or more
};

/// The score of the Vesuvius surface detection challenge, with all that it is made of:
/// 0.30 topology + 0.35 surface Dice + 0.35 variation of information.
struct SurfaceScore {
  double value = 0.0;  ///< with the topology score's estimate
  double least = 0.0;  ///< with its bounds
  double most = 0.0;
  double information_score = 0.0;  ///< 1 / (1 + alpha * information.sum())
  TopologyScore topology{};
  SurfaceDice surface{};  ///< at the tolerance
  VariationOfInformation information{};
};

/// In parallel by the oneTBB arena that it is called in, the same values for any number of threads.
/// Throws ConfigError as surface_dice(), and for an alpha below 0.
HEADRACE_API SurfaceScore surface_score(const MaskPair& pair,
                                        const SurfaceScoreOptions& options = {});

}  // namespace headrace::inline v1::models
