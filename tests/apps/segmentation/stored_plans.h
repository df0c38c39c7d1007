#pragma once

#include <headrace/apps/jobs/segmentation/nnunet_plan.h>
#include <headrace/tests/support/source_folder.h>

#include <cstdint>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

// nnU-Net's own plans of made-up fingerprints (make_nnunet_plans.py).
namespace headrace::test {

using Json = nlohmann::json;

inline Json stored_plans() {
  std::ifstream file(std::filesystem::path(headrace::test::source_folder()) /
                     "tests/apps/segmentation/data/nnunet_plans.json");
  return Json::parse(file);
}

inline NnUNetFingerprint fingerprint_of(const Json& made) {
  const Json& stored = made.at("fingerprint");
  return {.shapes = stored.at("shapes_after_crop"),
          .spacings = stored.at("spacings"),
          .median_relative_size_after_cropping = stored.at("median_relative_size_after_cropping")};
}

inline app::NnUNetQuestion question_of(const Json& made) {
  return {.channel_names = made.at("channel_names"),
          .labels = made.at("labels"),
          .cases = static_cast<std::int64_t>(made.at("fingerprint").at("spacings").size()),
          .gpu_memory = made.at("gpu_memory_gb")};
}

}  // namespace headrace::test
