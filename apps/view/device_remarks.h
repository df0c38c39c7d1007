#pragma once

#include <headrace/apps/job/job.h>
#include <headrace/engine/tensor/device.h>

#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// A sentence for each key of a configuration, or of its stages, that does nothing on this device.
std::vector<std::string> device_remarks(const JobConfig& config, const Device& device);

/// For the whole process and before its first operation on a GPU: what the libraries there want in
/// the environment to give the same bits every time, where a stage is to be deterministic. What is
/// set already is kept.
void prepare_environment(const JobConfig& config);

}  // namespace headrace::inline v1::app
