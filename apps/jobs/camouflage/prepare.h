#pragma once

#include <headrace/apps/run/command.h>

#include <cstdint>
#include <filesystem>

namespace headrace::inline v1::app {

/// What decides the pictures of `headrace prepare camouflage`, and where they go.
struct CamouflageOptions {
  std::filesystem::path output{};  ///< folder to write
  int side = 384;                  ///< height and width of a picture, in pixels
  std::int64_t train = 4000;       ///< pictures of the part Train
  std::int64_t validation = 400;   ///< of Val
  std::int64_t test = 600;         ///< of Test
  std::uint64_t seed = 42;
  int quality = 95;                     ///< of the JPEG files
  int threads = 0;                      ///< 0: all usable cores; no byte depends on it
  std::filesystem::path animals{};      ///< cut-outs, PNG; empty: Debian's
  std::filesystem::path backgrounds{};  ///< photographs; empty: Debian's
};

/// Writes a folder with Train, Val and Test, each with Imgs/NAME.jpg and GT_Object/NAME.png, named
/// as COD10K names its pictures; no animal and no background is in two of them. A folder that the
/// same recipe made is kept; one that is not finished is never seen under its name. Throws
/// ConfigError, DataError and ResourceError.
ExitCode prepare_camouflage(const CamouflageOptions& options);

/// `headrace prepare camouflage`.
Command prepare_camouflage_command();

}  // namespace headrace::inline v1::app
