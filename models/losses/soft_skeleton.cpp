#include <headrace/engine/base/error.h>
#include <headrace/models/losses/detail/window_extremes.h>
#include <headrace/models/losses/soft_skeleton.h>
#include <headrace/models/losses/targets.h>

#include <cstddef>
#include <string>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

namespace headrace::inline v1::models {

namespace {

using detail::ErosionWindow;
using torch::autograd::AutogradContext;
using Tensors = std::vector<at::Tensor>;

const detail::WindowExtremes& extremes_for(const at::Tensor& maps) {
  return maps.is_cpu() ? detail::window_loops : detail::window_operations;
}

ErosionWindow window_of(SkeletonOperators operators) {
  return operators == SkeletonOperators::cross ? ErosionWindow::cross : ErosionWindow::cube;
}

// Of each layer itself and the codes of the erosion and the dilation behind it.
struct Trace {
  Tensors layers;
  Tensors erosions;
  Tensors dilations;
};

at::Tensor codes_like(const at::Tensor& maps, const Trace* trace) {
  return trace == nullptr ? at::Tensor() : at::empty_like(maps, maps.options().dtype(at::kChar));
}

// Of `[M, D, H, W]`; `trace`, where wanted, is filled.
at::Tensor skeleton_of(const at::Tensor& maps, const SoftSkeletonOptions& options, Trace* trace) {
  const detail::WindowExtremes& extremes = extremes_for(maps);
  const bool cube = options.operators == SkeletonOperators::cube;
  const at::Tensor one = at::ones({}, maps.options());
  at::Tensor left = maps;
  at::Tensor skeleton;
  for (std::int64_t k = 0; k < options.iterations + (cube ? 0 : 1); ++k) {
    const at::Tensor erosion = codes_like(maps, trace);
    const at::Tensor dilation = codes_like(maps, trace);
    const at::Tensor eroded = extremes.erode(left, window_of(options.operators), erosion);
    const at::Tensor layer = extremes.residue(left, eroded, dilation);
    left = eroded;
    if (!skeleton.defined())
      skeleton = trace == nullptr ? layer : layer.clone();
    else if (cube)
      at::maximum_out(skeleton, skeleton, layer);
    else
      skeleton.lerp_(one, layer);  // s + layer (1 - s)
    if (trace == nullptr) continue;
    trace->layers.push_back(layer);
    trace->erosions.push_back(erosion);
    trace->dilations.push_back(dilation);
  }
  return skeleton;
}

at::Tensor gradient_of(const Trace& trace, const at::Tensor& gradient, ErosionWindow window) {
  const detail::WindowExtremes& extremes = extremes_for(gradient);
  const Tensors own = extremes.of_layers(trace.layers, gradient, window);
  at::Tensor of_eroded = at::zeros_like(gradient);
  for (std::size_t k = own.size(); k-- > 0;) {
    extremes.subtract_dilation(of_eroded, own[k], trace.dilations[k]);
    extremes.add_erosion(own[k], of_eroded, window, trace.erosions[k]);
    of_eroded = own[k];
  }
  return of_eroded;
}

struct SoftSkeleton : torch::autograd::Function<SoftSkeleton> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& maps,
                            std::int64_t iterations, bool cube) {
    const auto operators = cube ? SkeletonOperators::cube : SkeletonOperators::cross;
    Trace trace;
    at::Tensor skeleton =
        skeleton_of(maps, {.iterations = iterations, .operators = operators}, &trace);
    Tensors kept;
    for (const Tensors* part : {&trace.layers, &trace.erosions, &trace.dilations})
      kept.insert(kept.end(), part->begin(), part->end());
    context->save_for_backward(kept);
    context->saved_data["cube"] = cube;
    return skeleton;
  }

  static Tensors backward(AutogradContext* context, const Tensors& gradients) {
    if (at::GradMode::is_enabled())
      throw ConfigError(
          "[soft_skeleton] gradients of gradients (create_graph) are not known; leave it out of "
          "losses that need them");
    const Tensors kept = context->get_saved_variables();
    const auto layers = static_cast<std::ptrdiff_t>(kept.size() / 3);
    const auto part = [&](std::ptrdiff_t number) {
      return Tensors(kept.begin() + number * layers, kept.begin() + (number + 1) * layers);
    };
    const Trace trace{.layers = part(0), .erosions = part(1), .dilations = part(2)};
    const auto window =
        context->saved_data["cube"].toBool() ? ErosionWindow::cube : ErosionWindow::cross;
    return {gradient_of(trace, gradients[0].contiguous(), window), {}, {}};
  }
};

void require(const at::Tensor& maps, const SoftSkeletonOptions& options) {
  const at::ScalarType type = maps.scalar_type();
  if ((maps.dim() != 4 && maps.dim() != 5) || (type != at::kFloat && type != at::kDouble))
    throw ConfigError(
        "[soft_skeleton] maps must be [N, K, height, width] or [N, K, depth, height, width] of "
        "float or double, got " +
        detail::shape_text(maps) + " of " + c10::toString(type));
  const std::int64_t least = options.operators == SkeletonOperators::cube ? 1 : 0;
  if (options.iterations < least)
    throw ConfigError("[soft_skeleton] iterations must be at least " + std::to_string(least) +
                      ", got " + std::to_string(options.iterations));
}

}  // namespace

at::Tensor soft_skeleton(const at::Tensor& maps, const SoftSkeletonOptions& options) {
  require(maps, options);
  if (maps.numel() == 0) return maps.clone();
  const at::Tensor volumes = maps.dim() == 5 ? maps.flatten(0, 1) : maps.flatten(0, 1).unsqueeze(1);
  const at::Tensor dense = volumes.contiguous();
  if (!at::GradMode::is_enabled() || !dense.requires_grad())
    return skeleton_of(dense.detach(), options, nullptr).view(maps.sizes());
  return SoftSkeleton::apply(dense, options.iterations,
                             options.operators == SkeletonOperators::cube)
      .view(maps.sizes());
}

}  // namespace headrace::inline v1::models
