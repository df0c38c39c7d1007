#pragma once

#include <headrace/apps/doctor/environment.h>
#include <headrace/apps/doctor/whole_configuration.h>

namespace headrace::inline v1::app {

/// What a configuration says that it asks of the machine, and by which keys.
EnvironmentNeeds configured_needs(const WholeConfiguration& configuration);

}  // namespace headrace::inline v1::app
