#pragma once

#include <headrace/training/recipe.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::bench {

/// Which network, and how much of it.
struct WorkloadOptions {
  std::string network = "resnet50";  ///< or "leak_cnn"
  std::int64_t batch = 64;
  std::int64_t side = 224;  ///< of resnet50's pictures
  double width = 1.0;       ///< of resnet50
  at::Device device = at::kCPU;
};

/// A network's course, and one batch of numbers that lies on the device: what a step trains again
/// and again.
struct Workload {
  std::string title;
  std::string unit;                 ///< "images/s"
  std::vector<std::string> blocks;  ///< patterns of those that are checkpointed
  std::unique_ptr<training::Course> course;
  training::Example example;
  at::Device device = at::kCPU;
};

/// Throws `ConfigError` for another network.
Workload make_workload(const WorkloadOptions& options);

}  // namespace headrace::inline v1::bench
