#pragma once

#include <cstdint>

namespace headrace::inline v1::models {

/// Of a `residual_unet3d`.
struct Unet3dOptions {
  std::int64_t base = 40;        ///< channels of the finest stage; the others have multiples of it
  std::int64_t blocks = 3;       ///< residual blocks of each stage, the bottleneck and each level
  double dropout = 0.15;         ///< share of maps that each residual block drops in training
  bool deep_supervision = true;  ///< logits of the coarser levels, too; without it no heads for it

  bool operator==(const Unet3dOptions&) const = default;
};

}  // namespace headrace::inline v1::models
