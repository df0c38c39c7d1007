#pragma once

#include <headrace/apps/jobs/segmentation/nnunet_configuration.h>
#include <headrace/apps/task/data_facts.h>
#include <headrace/loaders/volume/nnunet_fingerprint.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What nnU-Net plans for a data set.
struct NnUNetPlans {
  /// Axis of the files (z, y, x) that each axis of a plan is, and back.
  std::array<std::size_t, 3> transpose_forward{0, 1, 2};
  std::array<std::size_t, 3> transpose_backward{0, 1, 2};
  std::array<double, 3> original_median_spacing{};  ///< of the files, transposed
  std::array<std::int64_t, 3> original_median_shape{};
  std::vector<std::string> normalization_schemes{};  ///< of each channel
  std::vector<bool> use_mask_for_norm{};             ///< only voxels of the image that are not 0
  std::optional<NnUNetConfiguration> fullres{};      ///< 3D; nothing where images are flat
  std::optional<NnUNetConfiguration> lowres{};  ///< 3D, coarser, where a patch shows too little
  NnUNetConfiguration flat{};                   ///< 2D
  Reasons reasons{};
};

/// Plans as nnU-Net's ExperimentPlanner (2.8) does, to the digit. Pure.
///
/// Throws `ConfigError` for a question without channels or cases, a fingerprint whose shapes or
/// spacings cannot be, and images too small to be halved once.
NnUNetPlans plan_segmentation(const NnUNetFingerprint& fingerprint, const NnUNetQuestion& question);

/// The plans for a person: a line a configuration, then why; strides and batch_dice explain
/// themselves in `reasons` alone.
std::vector<std::string> describe(const NnUNetPlans& plans);

}  // namespace headrace::inline v1::app
