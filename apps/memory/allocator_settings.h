#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace headrace::inline v1::app {

/// The key of the share of a GPU that LibTorch's tensors may take; older releases have none.
constexpr const char* share_of_gpu = "per_process_memory_fraction";

/// What the environment says to LibTorch's allocator of a GPU; nothing where a variable is not set.
struct AllocatorVariables {
  std::optional<std::string> cuda{};  ///< PYTORCH_CUDA_ALLOC_CONF, which goes first
  std::optional<std::string> any{};   ///< PYTORCH_ALLOC_CONF

  /// What holds of them; empty without both.
  std::string settings() const;
};

AllocatorVariables allocator_variables();

/// What PYTORCH_CUDA_ALLOC_CONF is to be, so that segments grow in place of memory lying in pieces;
/// nothing where a person has set either variable, which is kept.
std::optional<std::string> allocator_environment(const AllocatorVariables& set);

/// The settings with the share of a device that tensors may take: `bytes` of `all`, or all of it
/// for 0. A share that is in them already stays.
std::string settings_with_share(const std::string& settings, std::uint64_t bytes,
                                std::uint64_t all);

}  // namespace headrace::inline v1::app
