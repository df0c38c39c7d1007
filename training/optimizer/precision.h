#pragma once

#include <headrace/engine/base/export.h>

namespace headrace::inline v1::training {

/// Arithmetic of the forward pass. Weights, their gradients and losses stay in float. tf32:
/// products of floats on an NVIDIA GPU of 8.0 or later round their factors to 10 bits of mantissa;
/// elsewhere it is fp32. fp16 goes with a scaled loss, see `GradScaler`.
enum class Precision : unsigned char { fp32, tf32, bf16, fp16 };

/// The word that configurations have for it.
HEADRACE_API const char* name_of(Precision precision);

/// How LibTorch computes on a GPU, for the whole process.
struct DeviceModes {
  Precision precision = Precision::fp32;  ///< whether products may be in TF32
  bool cudnn_benchmark = false;           ///< cuDNN tries its algorithms for each shape
  /// Only operations that give the same bits for the same input; one that has no such form throws.
  bool deterministic = false;
};

/// Sets them. LibTorch's own default has convolutions in TF32: fp32 takes that away. Throws
/// `ConfigError` where algorithms are to be tried and deterministic.
HEADRACE_API void set_device_modes(const DeviceModes& modes);

}  // namespace headrace::inline v1::training
