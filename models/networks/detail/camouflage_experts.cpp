#include <headrace/models/networks/detail/camouflage_experts.h>
#include <headrace/models/networks/detail/conv_norm.h>
#include <headrace/models/networks/detail/part_list.h>

#include <array>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/elu.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/upsample_bilinear2d.h>

namespace headrace::inline v1::models::detail {

// Fixed filters of maps `[N, C, H, W]`, each channel on its own; the maps keep their sides.
namespace {

struct Neighbours {
  at::Tensor before;
  at::Tensor after;
};

Neighbours along(const at::Tensor& maps, std::int64_t axis) {
  const std::int64_t rest = maps.size(axis) - 1;
  return {.before = at::cat({maps.narrow(axis, 0, 1), maps.narrow(axis, 0, rest)}, axis),
          .after = at::cat({maps.narrow(axis, 1, rest), maps.narrow(axis, rest, 1)}, axis)};
}

at::Tensor difference(const at::Tensor& maps, std::int64_t axis) {
  const Neighbours next = along(maps, axis);
  return next.after - next.before;
}

at::Tensor smoothed(const at::Tensor& maps, std::int64_t axis) {
  const Neighbours next = along(maps, axis);
  return next.before + 2.0 * maps + next.after;
}

/// Means of the 3x3 pixels around each, as far as there are any.
at::Tensor smooth_part(const at::Tensor& maps) {
  return at::avg_pool2d(maps, 3, 1, 1, /*ceil_mode=*/false, /*count_include_pad=*/false);
}

/// What these leave.
at::Tensor sharp_part(const at::Tensor& maps) {
  return maps - smooth_part(maps);
}

/// `|x| + |y|` of Sobel's gradient, by 8: of a slope of 1 a pixel it is 1. Outside of a map, here
/// and below, lies its outermost pixel.
at::Tensor sobel_magnitude(const at::Tensor& maps) {
  const at::Tensor x = smoothed(difference(maps, 3), 2);
  const at::Tensor y = smoothed(difference(maps, 2), 3);
  return (x.abs() + y.abs()) / 8.0;
}

/// The sum of the four neighbours less four times the pixel.
at::Tensor laplacian(const at::Tensor& maps) {
  const Neighbours x = along(maps, 3);
  const Neighbours y = along(maps, 2);
  return x.before + x.after + y.before + y.after - 4.0 * maps;
}

}  // namespace

namespace {

namespace nn = torch::nn;

std::shared_ptr<ConvNorm> conv_norm(const ConvNormOptions& options) {
  return std::make_shared<ConvNorm>(options);
}

ConvNormOptions depthwise(std::int64_t channels, std::int64_t kernel) {
  return {.in = channels, .out = channels, .kernel = kernel, .groups = channels};
}

ConvNormOptions pointwise(std::int64_t in, std::int64_t out) {
  return {.in = in, .out = out};
}

struct TextureBranch : nn::Module {
  TextureBranch(std::int64_t channels, std::int64_t dilation)
      : reduce(register_module("reduce", same_convolution(pointwise(channels, channels / 4)))),
        dilated(register_module(
            "dilated",
            conv_norm(
                {.in = channels / 4, .out = channels / 4, .kernel = 3, .dilation = dilation}))) {}
  at::Tensor forward(const at::Tensor& maps) { return dilated->forward(reduce(maps)).relu_(); }

  nn::Conv2d reduce;
  std::shared_ptr<ConvNorm> dilated;
};

struct Texture : Expert {
  explicit Texture(std::int64_t channels)
      : branches(register_module("branches", std::make_shared<PartList<TextureBranch>>())),
        fuse(register_module("fuse", conv_norm(pointwise(channels, channels)))) {
    for (std::int64_t dilation = 1; dilation <= 4; ++dilation)
      branches->add(std::make_shared<TextureBranch>(channels, dilation));
  }

  at::Tensor forward(const at::Tensor& maps) override {
    std::vector<at::Tensor> seen;
    for (const auto& branch : branches->parts)
      seen.push_back(branch->forward(maps));
    return fuse->forward(at::cat(seen, 1));
  }

  std::shared_ptr<PartList<TextureBranch>> branches;
  std::shared_ptr<ConvNorm> fuse;
};

struct LinearAttention : Expert {
  explicit LinearAttention(std::int64_t channels)
      : qkv(register_module("qkv",
                            nn::Conv2d(nn::Conv2dOptions(channels, 3 * channels, 1).bias(false)))),
        proj(register_module("proj", same_convolution(pointwise(channels, channels)))) {
    while (channels % heads != 0)
      --heads;
  }

  // Keys are taken by the number of pixels, so that no sum over a map grows with it.
  at::Tensor forward(const at::Tensor& maps) override {
    const std::int64_t pixels = maps.size(2) * maps.size(3);
    const at::Tensor parts =
        qkv(maps).reshape({maps.size(0), 3, heads, maps.size(1) / heads, pixels});
    const at::Tensor q = at::elu(parts.select(1, 0)) + 1.0;
    const at::Tensor k = (at::elu(parts.select(1, 1)) + 1.0) / static_cast<double>(pixels);
    const at::Tensor values = at::matmul(parts.select(1, 2), k.transpose(2, 3));
    const at::Tensor total = (k.sum(3, /*keepdim=*/true) * q).sum(2, /*keepdim=*/true);
    return proj((at::matmul(values, q) / (total + 1e-6)).reshape(maps.sizes()));
  }

  nn::Conv2d qkv;
  nn::Conv2d proj;
  std::int64_t heads = 8;
};

struct Hybrid : Expert {
  explicit Hybrid(std::int64_t channels)
      : depth(register_module("depth", same_convolution(depthwise(channels, 5)))),
        point(register_module("point", same_convolution(pointwise(channels, channels)))),
        reduce(register_module("reduce", same_convolution(pointwise(channels, channels / 4)))),
        expand(register_module("expand", same_convolution(pointwise(channels / 4, channels)))),
        fuse(register_module("fuse", conv_norm(pointwise(channels, channels)))) {}

  at::Tensor forward(const at::Tensor& maps) override {
    const at::Tensor means = maps.mean({2, 3}, /*keepdim=*/true);
    return fuse->forward(point(depth(maps)) * expand(reduce(means).relu_()).sigmoid_());
  }

  nn::Conv2d depth;
  nn::Conv2d point;
  nn::Conv2d reduce;
  nn::Conv2d expand;
  std::shared_ptr<ConvNorm> fuse;
};

// Two views of the maps, each with a convolution of its own.
struct Pair : Expert {
  using Filter = at::Tensor (*)(const at::Tensor&);

  Pair(std::int64_t channels, Filter one, Filter other)
      : filters{one, other},
        first(register_module("first", conv_norm(pointwise(channels, channels)))),
        second(register_module("second", conv_norm(pointwise(channels, channels)))) {}

  at::Tensor forward(const at::Tensor& maps) override {
    return first->forward(filters[0](maps)).relu_() + second->forward(filters[1](maps)).relu_();
  }

  std::array<Filter, 2> filters;
  std::shared_ptr<ConvNorm> first;
  std::shared_ptr<ConvNorm> second;
};

struct Context : Expert {
  explicit Context(std::int64_t channels)
      : branches(register_module("branches", std::make_shared<PartList<ConvNorm>>())),
        fuse(register_module("fuse", conv_norm(pointwise(channels, channels)))) {
    // One group: there may be a single pixel to take a mean of.
    for (std::size_t i = 0; i < sides.size(); ++i)
      branches->add(conv_norm({.in = channels, .out = channels / 4, .norm_groups = 1}));
  }

  at::Tensor forward(const at::Tensor& maps) override {
    std::vector<at::Tensor> seen;
    for (std::size_t i = 0; i < sides.size(); ++i) {
      const at::Tensor pooled = at::adaptive_avg_pool2d(maps, {sides[i], sides[i]});
      seen.push_back(at::upsample_bilinear2d(branches->parts[i]->forward(pooled).relu_(),
                                             maps.sizes().slice(2), /*align_corners=*/false));
    }
    return fuse->forward(at::cat(seen, 1));
  }

  static constexpr std::array<std::int64_t, 4> sides{8, 4, 2, 1};
  std::shared_ptr<PartList<ConvNorm>> branches;
  std::shared_ptr<ConvNorm> fuse;
};

struct Contrast : Expert {
  explicit Contrast(std::int64_t channels)
      : local(register_module("local", conv_norm(depthwise(channels, 3)))),
        first(register_module("first", conv_norm(pointwise(channels, channels)))),
        second(register_module("second", conv_norm(pointwise(channels, channels)))) {}

  at::Tensor forward(const at::Tensor& maps) override {
    return second->forward(first->forward(maps - local->forward(maps)).relu_());
  }

  std::shared_ptr<ConvNorm> local;
  std::shared_ptr<ConvNorm> first;
  std::shared_ptr<ConvNorm> second;
};

struct Wide : Expert {
  explicit Wide(std::int64_t channels)
      : depth(register_module("depth", conv_norm(depthwise(channels, 7)))),
        point(register_module("point", conv_norm(pointwise(channels, channels)))) {}

  at::Tensor forward(const at::Tensor& maps) override {
    return point->forward(depth->forward(maps).relu_());
  }

  std::shared_ptr<ConvNorm> depth;
  std::shared_ptr<ConvNorm> point;
};

struct EdgeDifference : Expert {
  explicit EdgeDifference(std::int64_t channels)
      : first(register_module("first", conv_norm(pointwise(channels, channels)))),
        second(
            register_module("second", conv_norm({.in = channels, .out = channels, .kernel = 3}))) {}

  at::Tensor forward(const at::Tensor& maps) override {
    return second->forward(first->forward(sharp_part(maps)).relu_());
  }

  std::shared_ptr<ConvNorm> first;
  std::shared_ptr<ConvNorm> second;
};

}  // namespace

std::shared_ptr<Expert> texture_expert(std::int64_t channels) {
  return std::make_shared<Texture>(channels);
}

std::shared_ptr<Expert> linear_attention_expert(std::int64_t channels) {
  return std::make_shared<LinearAttention>(channels);
}

std::shared_ptr<Expert> hybrid_expert(std::int64_t channels) {
  return std::make_shared<Hybrid>(channels);
}

std::shared_ptr<Expert> frequency_expert(std::int64_t channels) {
  return std::make_shared<Pair>(channels, smooth_part, sharp_part);
}

std::shared_ptr<Expert> edge_expert(std::int64_t channels) {
  return std::make_shared<Pair>(channels, sobel_magnitude, laplacian);
}

std::shared_ptr<Expert> context_expert(std::int64_t channels) {
  return std::make_shared<Context>(channels);
}

std::shared_ptr<Expert> contrast_expert(std::int64_t channels) {
  return std::make_shared<Contrast>(channels);
}

std::shared_ptr<Expert> wide_expert(std::int64_t channels) {
  return std::make_shared<Wide>(channels);
}

std::shared_ptr<Expert> edge_difference_expert(std::int64_t channels) {
  return std::make_shared<EdgeDifference>(channels);
}

}  // namespace headrace::inline v1::models::detail
