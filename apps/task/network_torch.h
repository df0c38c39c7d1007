#pragma once

#include <headrace/apps/task/channel_statistics.h>
#include <headrace/apps/task/model_settings.h>
#include <headrace/engine/tensor/shape.h>
#include <headrace/models/networks/named_network.h>
#include <headrace/models/networks/network.h>
#include <headrace/models/networks/weight_names.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <c10/core/Device.h>

namespace headrace::inline v1::app {

/// What a task makes of a network.
struct NetworkShape {
  std::int64_t outputs = 1;
  std::int64_t channels = 3;  ///< of the data; of vectors their length
  /// Of what it sees; empty of vectors, and where that is not known, as in a prediction.
  std::vector<std::int64_t> sides{};
  bool sides_of_data = false;  ///< they are the data's, not a setting
  bool vectors = false;        ///< a record is a vector
  bool dense = false;          ///< outputs for each pixel, not for each row
  /// Of volumes, whose sides are three (`volume.patch`): millimetres along each; empty: any.
  std::vector<double> spacing{};
};

/// That of pictures of these sides, or where `record` has axes of arrays: [values], [bins, frames]
/// (one channel) or [channels, bins, frames].
NetworkShape input_shape(std::int64_t outputs, int side, const Shape& record);

/// Throws ConfigError for a name that is none of `names`, for one of other inputs than these, and
/// for sides that it cannot take, as far as they are known; `outputs` is not looked at.
void check_network(const ModelSettings& model, const std::vector<std::string>& names,
                   const NetworkShape& shape);

/// What is known of the network of a section `model` with so many outputs. Throws ConfigError for a
/// name that is not known.
models::NetworkTraits traits_of(const ModelSettings& model, const NetworkShape& shape);

/// The network of a section `model` with so many outputs, where `starts` as `start_network` leaves
/// it. Throws ConfigError for names and sides that are not known, and what `start_network` throws.
std::unique_ptr<models::Network> make_task_network(const ModelSettings& model,
                                                   const NetworkShape& shape, bool starts);

/// One small batch through a network that was read from TorchScript, on the device that it was
/// moved to. Throws ConfigError if it fails or gives other outputs than the task has. A network by
/// name is left alone.
void try_task_network(const ModelSettings& model, const NetworkShape& shape,
                      models::Network& network, c10::Device device);

/// What its usual weights were trained with.
ChannelStatistics statistics_of_weights(const ModelSettings& model);

/// For a checkpoint's notes: "network", such as "resnet18", "unet of resnet18, width 0.5",
/// "camoxpert of edgenext_base, experts 5", "resnet18, hidden [512, 128], dropout [0.4, 0.2, 0.2]"
/// or "net.pt"; and of a network from TorchScript "torchscript", its file.
std::map<std::string, std::string> network_notes(const ModelSettings& model);

/// Loads the weights that a section `model` names into a fresh network, and says on standard error
/// and in the log what of it was taken anew. Second names of one tensor of a script are passed
/// over. Throws CheckpointError, which names the key, for weights that do not fit; ConfigError for
/// a file that is not there, for a pattern of `model.frozen` that fits no parameter, with the
/// nearest, and for one that fits parameters with random values, unless they are allowed.
void start_network(const ModelSettings& model, models::Network& network,
                   const models::WeightNames& names);

}  // namespace headrace::inline v1::app
