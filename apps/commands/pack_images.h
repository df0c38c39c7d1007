#pragma once

#include <headrace/apps/commands/command_line.h>
#include <headrace/apps/config/exit_codes.h>

namespace headrace::inline v1::app {

/// `headrace pack images`: writes a data set into one file, or goes on with one begun before.
ExitCode pack_images_command(const PackImagesOptions& options);

/// `headrace pack verify`: reads a pack through and, where the originals are named, compares
/// pixels. Failure with ExitCode::data when anything is wrong.
ExitCode pack_verify_command(const PackVerifyOptions& options);

}  // namespace headrace::inline v1::app
