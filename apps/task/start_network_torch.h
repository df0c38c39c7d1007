#pragma once

#include <headrace/apps/task/model_settings.h>
#include <headrace/models/networks/network.h>
#include <headrace/models/networks/weight_names.h>

namespace headrace::inline v1::app {

/// Loads the weights that a section `model` names into a fresh network, and says on standard error
/// and in the log what of it was taken anew. Second names of one tensor of a script are passed
/// over. Throws CheckpointError, which names the key, for weights that do not fit; ConfigError for
/// a file that is not there, for a pattern of `model.frozen` that fits no parameter, with the
/// nearest, and for one that fits parameters with random values, unless they are allowed.
void start_network(const ModelSettings& model, models::Network& network,
                   const models::WeightNames& names);

}  // namespace headrace::inline v1::app
