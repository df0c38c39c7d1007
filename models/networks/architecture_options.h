#pragma once

#include <cstdint>
#include <optional>

namespace headrace::inline v1::models {

/// Of networks with mixtures of experts and heads at coarser maps.
struct MixtureOptions {
  std::optional<std::int64_t> experts = {};  ///< of each mixture; none: as many as there are kinds
  double balance = 0.1;                      ///< factor of the loss `balance`; 0: there is none
  bool deep_supervision = true;              ///< without it there are no heads for it
  double capacity = 0.0;                     ///< see `ExpertMixtureOptions`

  bool operator==(const MixtureOptions&) const = default;
};

/// Of a `residual_unet3d`.
struct Unet3dOptions {
  std::int64_t base = 40;        ///< channels of the finest stage; the others have multiples of it
  std::int64_t blocks = 3;       ///< residual blocks of each stage, the bottleneck and each level
  double dropout = 0.15;         ///< share of maps that each residual block drops in training
  bool deep_supervision = true;  ///< logits of the coarser levels, too; without it no heads for it

  bool operator==(const Unet3dOptions&) const = default;
};

}  // namespace headrace::inline v1::models
