#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

namespace headrace::inline v1 {

/// How far the copy of a file to a stage is; once `done` is `all`, it is checked as well.
struct StageProgress {
  std::filesystem::path file{};
  std::uint64_t done = 0;  ///< bytes
  std::uint64_t all = 0;   ///< bytes
};

/// Called by the thread that copies, a few times a second or more.
using StageCallback = std::function<void(const StageProgress&)>;

}  // namespace headrace::inline v1
