#pragma once

#include <headrace/apps/jobs/segmentation/nnunet_plan.h>
#include <headrace/loaders/volume/nnunet_fingerprint.h>
#include <headrace/loaders/volume/nnunet_raw.h>

#include <filesystem>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// A data set of nnU-Net's raw layout, what was found in it, and what is planned.
struct NnUNetPlanning {
  NnUNetRaw raw{};
  NnUNetFingerprint fingerprint{};
  NnUNetPlans plans{};
};

/// Looks at all of a data set and plans. `gpu_memory`: GB that a step may take. Throws what
/// read_nnunet_raw(), nnunet_fingerprint() and plan_segmentation() throw.
NnUNetPlanning plan_nnunet_data(const std::filesystem::path& folder,
                                const NnUNetFingerprintOptions& options = {}, double gpu_memory = 8,
                                bool follow_links = false);

/// The data set for a person: cases, channels, classes, what looks wrong; a few lines.
std::vector<std::string> describe(const NnUNetRaw& raw, const NnUNetFingerprint& fingerprint);

/// Data set and plans.
std::vector<std::string> describe(const NnUNetPlanning& planning);

}  // namespace headrace::inline v1::app
