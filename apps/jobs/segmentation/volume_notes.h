#pragma once

#include <headrace/apps/task/volume_settings.h>

#include <string>

namespace headrace::inline v1::app {

/// What is done to volumes before a network sees them, as JSON for a checkpoint's notes: "spacing",
/// "crop" and for each channel its "scheme" with its statistics.
std::string preparation_note(const VolumePreparation& preparation);

}  // namespace headrace::inline v1::app
