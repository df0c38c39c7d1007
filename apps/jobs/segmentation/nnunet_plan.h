#pragma once

#include <headrace/apps/task/data_facts.h>
#include <headrace/loaders/volume/nnunet_fingerprint.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What a plan depends on beside a data set's fingerprint.
struct NnUNetQuestion {
  std::vector<std::string> channel_names{};  ///< they choose how a channel is normalised
  std::int64_t labels = 2;                   ///< entries of dataset.json: background, ignore too
  std::int64_t cases = 0;                    ///< to train on
  double gpu_memory = 8;                     ///< GB that a step may take, as nnU-Net estimates it
};

/// One of nnU-Net's configurations, by the names of its plans. Axes as transposed.
struct NnUNetConfiguration {
  std::string name{};  ///< 2d, 3d_lowres, 3d_fullres
  std::vector<double> spacing{};
  std::vector<double> median_image_size{};  ///< of images resampled to that spacing
  std::vector<std::int64_t> patch_size{};
  std::int64_t batch_size = 0;
  std::vector<std::int64_t> features_per_stage{};
  std::vector<std::vector<std::int64_t>> strides{};
  std::vector<std::vector<std::int64_t>> kernel_sizes{};
  std::vector<std::int64_t> n_conv_per_stage{};
  std::vector<std::int64_t> n_conv_per_stage_decoder{};
  bool batch_dice = false;
  Reasons reasons{};  ///< a sentence for each decision, by the member's name
};

/// Throws the ConfigError of a plan that breaks this rule.
[[noreturn]] void refuse_plan(const std::string& rule);

/// Patch, batch and network for images of `median` voxels that are resampled to `spacing`, which
/// say 2D or 3D; `voxels` are those of the whole data set. Throws ConfigError for images too small
/// to be halved once. (nnunet_configuration.cpp)
NnUNetConfiguration configure_nnunet(const std::string& name, const std::vector<double>& spacing,
                                     const std::vector<double>& median, double voxels,
                                     const NnUNetQuestion& question);

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
