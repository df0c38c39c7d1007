#pragma once

#include <headrace/loaders/image/detail/nvjpeg/nvjpeg_abi.h>

#include <array>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {

/// nvJPEG as this process has it; opened at run time, never linked.
struct NvjpegLibrary {
  nvjpeg::Functions call;
  bool is_open = false;
  std::string reason;            ///< why it is not open
  std::array<int, 3> version{};  ///< 13, 3, 2 for 13.3.2
};

/// Where the library is looked for, in this order: the loader's path (which also finds one that is
/// loaded already), beside the CUDA runtime that the process has loaded, and where the packages of
/// PyPI put it, seen from a loaded LibTorch.
std::vector<std::string> nvjpeg_places();

/// Opens the first of `places` that is nvJPEG 13.
NvjpegLibrary open_nvjpeg(std::span<const std::string> places);

/// Why a version is not used; empty where it is.
std::string nvjpeg_refusal(std::array<int, 3> version);

/// The process's own, opened on first use and never closed. Throws ConfigError where there is none,
/// saying how to get it. Thread-safe.
const NvjpegLibrary& require_nvjpeg(const std::string& who);

}  // namespace headrace::inline v1::detail
