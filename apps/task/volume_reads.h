#pragma once

#include <headrace/apps/task/volume_records.h>
#include <headrace/apps/task/volume_settings.h>

namespace headrace::inline v1::app {

/// Has what patches of these volumes unpack counted (feed/read_window.h) while their cache is in
/// use. Nothing is counted as long as no decoded block had to go: each was unpacked once then,
/// whatever its shape. What could be changed is `volume.visit`, where more patches at a visit
/// unpack less, else `volume.cache`.
void watch_volume_reads(const VolumeSet& set, const VolumeSettings& volume);

}  // namespace headrace::inline v1::app
