#pragma once

namespace headrace::inline v1::training {

/// Arithmetic of the forward pass. Weights and losses stay in float.
enum class Precision : unsigned char { fp32, bf16 };

}  // namespace headrace::inline v1::training
