#pragma once

#include <headrace/apps/task/channel_statistics.h>
#include <headrace/apps/task/model_settings.h>
#include <headrace/models/networks/named_network.h>
#include <headrace/models/networks/network.h>

#include <cstdint>
#include <memory>
#include <string>

namespace headrace::inline v1::app {

/// What a task makes of a network.
struct NetworkShape {
  std::int64_t outputs = 1;
  int side = 224;  ///< of the pictures that it sees
};

/// Throws ConfigError for a name that is none of this task, and for one of other inputs than
/// pictures.
void check_network(const ModelSettings& model, models::Task task);

/// What is known of the network of a section `model` with so many outputs. Throws ConfigError for a
/// name that is not known.
models::NetworkTraits traits_of(const ModelSettings& model, const NetworkShape& shape);

/// The network of a section `model` with so many outputs, where `starts` with the weights of its
/// file; says on standard error and in the log what of it was taken anew. Throws ConfigError for
/// names that are not known, CheckpointError for weights that do not fit.
std::unique_ptr<models::Network> make_task_network(const ModelSettings& model,
                                                   const NetworkShape& shape, bool starts);

/// What its usual weights were trained with.
ChannelStatistics statistics_of_weights(const ModelSettings& model);

/// "resnet18", "unet of resnet18", "network.pt": for a checkpoint's notes.
std::string network_name(const ModelSettings& model);

}  // namespace headrace::inline v1::app
