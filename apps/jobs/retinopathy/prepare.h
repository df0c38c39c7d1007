#pragma once

#include <headrace/apps/run/command.h>

namespace headrace::inline v1::app {

/// `headrace prepare retinopathy`: folders of JPEG files, as EyePACS is laid out, from five classes
/// of Fashion-MNIST in EyePACS's imbalance. A folder that was made by the same recipe is kept; one
/// that is not finished is never seen under its name.
Command prepare_retinopathy_command();

}  // namespace headrace::inline v1::app
