#pragma once

#include <headrace/apps/run/command.h>

namespace headrace::inline v1::app {

/// `headrace prepare surface`: the surface of a brain in real volumes, as nnU-Net's raw layout.
Command prepare_surface_command();

}  // namespace headrace::inline v1::app
