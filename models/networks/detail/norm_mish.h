#pragma once

#include <ATen/core/Tensor.h>

/// Instance norm (epsilon 1e-5) and Mish of `[N, C, ...]`, alone or with what stands beside or
/// behind them, as one operation. For the backward pass each keeps its inputs and two statistics a
/// map; norm, sum and Mish, which LibTorch's layers keep, are computed again.
///
/// Results have the type of `input`, others are cast to it. Half precision has statistics, and
/// gradients of the norm's weight and bias, in float. The backward pass throws `ConfigError` for
/// gradients of gradients.
namespace headrace::inline v1::models::detail {

/// What becomes of a map of mean 0 and variance 1: `weight * map + bias`. Both `[C]`, or `[N, C]`
/// where each sample has its own, as with dropout.
struct NormAffine {
  at::Tensor weight;
  at::Tensor bias;
};

/// A convolution with kernels of 1: `weight` is `[C, in, 1, ...]`, `bias` `[C]`.
struct Projection {
  at::Tensor maps;  ///< that it takes, `[N, in, ...]`
  at::Tensor weight;
  at::Tensor bias;
};

/// `mish(norm(input) + residual)`. The residual has the sizes of `input`, or is undefined.
at::Tensor norm_mish(const at::Tensor& input, const NormAffine& affine,
                     const at::Tensor& residual = {});

/// The same with a projection as residual, whose result is not kept either.
at::Tensor norm_mish(const at::Tensor& input, const NormAffine& affine, const Projection& residual);

/// `mish(norm(input))` convolved by `kernel`, `[out, C, ...]` of odd sides, which leaves the sides.
/// The input is given away: without gradients it goes as soon as it is used.
at::Tensor norm_mish_convolved(at::Tensor input, const NormAffine& affine,
                               const at::Tensor& kernel);

}  // namespace headrace::inline v1::models::detail
