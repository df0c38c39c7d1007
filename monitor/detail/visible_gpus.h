#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::monitor::detail {

/// CUDA_VISIBLE_DEVICES as a process was started with it; nothing where it was not set or may not
/// be read.
std::optional<std::string> cuda_visible_devices(const std::filesystem::path& root, int pid);

/// Which of the GPUs, known by their UUIDs, such a value shows: numbers, or UUIDs or their
/// beginnings, up to the first that is none of them, as CUDA reads it. All where it is not set and
/// where it names parts of GPUs (MIG).
std::vector<std::size_t> visible_gpus(const std::optional<std::string>& value,
                                      const std::vector<std::string>& uuids);

}  // namespace headrace::inline v1::monitor::detail
