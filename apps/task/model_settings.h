#pragma once

#include <headrace/apps/config/fields.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// The section `model` of a task.
struct ModelSettings {
  std::string name{};  ///< of models/networks/named_network.h; empty where a script is given
  std::filesystem::path torchscript{};  ///< a network that torch.jit.script made
  std::string main{};  ///< of a script's outputs by name, what predictions are made of
  std::vector<std::string> non_persistent{};  ///< buffers of a script that are no state
  std::filesystem::path weights{};            ///< safetensors; empty: from random values
  std::optional<std::int64_t> in_channels{};  ///< none: those of the data
  double width = 1.0;                         ///< factor of the number of features
  std::vector<std::int64_t> hidden{};         ///< layers of the head before the last
  std::vector<double>
      dropout{};  ///< before each of its linear layers; of residual_unet3d in blocks
  std::optional<std::string> encoder{};   ///< none: the network's own, of unet resnet18
  std::optional<std::int64_t> experts{};  ///< of each mixture; none: one of each kind
  bool deep_supervision = true;           ///< of networks that may go without
  std::int64_t base = 40;                 ///< features of residual_unet3d at full size
  std::int64_t blocks = 3;                ///< of each of its stages
  double balance = 0.1;                   ///< factor of their balance loss
  double capacity = 0.0;                  ///< of their experts; 0: no limit
  std::vector<std::string> frozen{};      ///< parameters that are not trained
  bool allow_random_frozen = false;
};

/// Its keys.
void describe(Fields& fields, ModelSettings& model);

/// Whether the network has mixtures of experts: camoxpert and camoxpert_lean.
bool has_mixtures(const ModelSettings& model);

/// Whether it is residual_unet3d.
bool is_residual_unet3d(const ModelSettings& model);

/// Throws ConfigError for keys that contradict each other.
void check(const ModelSettings& model);

}  // namespace headrace::inline v1::app
