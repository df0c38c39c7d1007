#include <headrace/engine/base/error.h>
#include <headrace/models/networks/detail/nnunet_shape.h>
#include <headrace/models/networks/detail/refuse.h>

#include <algorithm>
#include <sstream>

namespace headrace::inline v1::models {

namespace detail {

const NnUNetKind plain_conv_unet_kind = {"PlainConvUNet", {2}, 2};
const NnUNetKind residual_encoder_unet_kind = {"ResidualEncoderUNet", {1, 3, 4, 6}, 1};

namespace {

void check_numbers(const std::string& name, const NnUNetOptions& options) {
  if (options.dims != 2 && options.dims != 3)
    refuse(name, "dims must be 2 or 3, got ", options.dims);
  if (options.in_channels < 1)
    refuse(name, "in_channels must be at least 1, got ", options.in_channels);
  if (options.classes < 1) refuse(name, "classes must be at least 1, got ", options.classes);
  if (options.features_per_stage.size() < 2)
    refuse(name, "features_per_stage must have at least 2 entries, got ",
           at::IntArrayRef(options.features_per_stage));
}

// A list of options as messages call it: its key, and how many entries it must have.
struct List {
  const char* key;
  std::size_t entries;
};

void check_counts(const std::string& name, const List& list,
                  const std::vector<std::int64_t>& counts) {
  if (counts.size() != list.entries)
    refuse(name, list.key, " must have ", list.entries, " entries, got ", at::IntArrayRef(counts));
  if (std::ranges::any_of(counts, [](std::int64_t count) { return count < 1; }))
    refuse(name, list.key, " must all be at least 1, got ", at::IntArrayRef(counts));
}

void check_axes(const std::string& name, const List& list, const std::vector<Axes>& stages,
                std::int64_t dims) {
  if (stages.size() != list.entries)
    refuse(name, list.key, " must have an entry for each of the ", list.entries,
           " features_per_stage, got ", stages.size());
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    const Axes& axes = stages[stage];
    if (static_cast<std::int64_t>(axes.size()) != dims ||
        std::ranges::any_of(axes, [](std::int64_t value) { return value < 1; }))
      refuse(name, list.key, " of stage ", stage, " must be ", dims, " values of at least 1, got ",
             at::IntArrayRef(axes));
  }
}

void check_kernels(const std::string& name, const std::vector<Axes>& kernels) {
  for (std::size_t stage = 0; stage < kernels.size(); ++stage)
    if (std::ranges::any_of(kernels[stage], [](std::int64_t side) { return side % 2 == 0; }))
      refuse(name, "kernel_sizes of stage ", stage, " must be odd, got ",
             at::IntArrayRef(kernels[stage]));
}

void check_first_stride(const std::string& name, const Axes& stride) {
  if (std::ranges::any_of(stride, [](std::int64_t step) { return step != 1; }))
    refuse(name, "strides of stage 0 must be 1, got ", at::IntArrayRef(stride),
           "; otherwise the logits would be smaller than the image");
}

// Empty lists of the options replaced by their defaults.
NnUNetOptions filled(const NnUNetKind& kind, NnUNetOptions options) {
  const std::size_t stages = options.features_per_stage.size();
  const auto dims = static_cast<std::size_t>(options.dims);
  if (options.kernel_sizes.empty()) options.kernel_sizes.assign(stages, Axes(dims, 3));
  if (options.strides.empty()) {
    options.strides.assign(stages, Axes(dims, 2));
    options.strides.front() = Axes(dims, 1);
  }
  if (options.n_blocks_per_stage.empty())
    for (std::size_t stage = 0; stage < stages; ++stage)
      options.n_blocks_per_stage.push_back(kind.blocks[std::min(stage, kind.blocks.size() - 1)]);
  if (options.n_conv_per_stage_decoder.empty())
    options.n_conv_per_stage_decoder.assign(stages - 1, kind.decoder_convs);
  return options;
}

void check_lists(const std::string& name, const NnUNetOptions& options) {
  const std::size_t stages = options.features_per_stage.size();
  check_counts(name, {"features_per_stage", stages}, options.features_per_stage);
  check_axes(name, {"kernel_sizes", stages}, options.kernel_sizes, options.dims);
  check_kernels(name, options.kernel_sizes);
  check_axes(name, {"strides", stages}, options.strides, options.dims);
  check_first_stride(name, options.strides.front());
  check_counts(name, {"n_blocks_per_stage", stages}, options.n_blocks_per_stage);
  check_counts(name, {"n_conv_per_stage_decoder", stages - 1}, options.n_conv_per_stage_decoder);
}

// Whether the images have sides that the strides divide, and more than a value left at the coarsest
// stage, where norms need two.
bool sides_fit(const Axes& divisors, at::IntArrayRef sides) {
  bool several = false;
  for (std::size_t axis = 0; axis < divisors.size(); ++axis) {
    if (sides[axis] < 1 || sides[axis] % divisors[axis] != 0) return false;
    several = several || sides[axis] > divisors[axis];
  }
  return several;
}

// The next sides up that fit.
Axes padded(const Axes& divisors, at::IntArrayRef sides) {
  Axes next;
  for (std::size_t axis = 0; axis < divisors.size(); ++axis) {
    const std::int64_t parts = (sides[axis] + divisors[axis] - 1) / divisors[axis];
    next.push_back(std::max<std::int64_t>(parts, 1) * divisors[axis]);
  }
  if (next == divisors) next.back() *= 2;
  return next;
}

}  // namespace

NnUNetShape shape_of(const NnUNetKind& kind, const NnUNetOptions& given) {
  check_numbers(kind.name, given);
  const NnUNetOptions options = filled(kind, given);
  check_lists(kind.name, options);
  NnUNetShape shape{.name = kind.name,
                    .dims = options.dims,
                    .in_channels = options.in_channels,
                    .classes = options.classes,
                    .deep_supervision = options.deep_supervision};
  const std::size_t stages = options.features_per_stage.size();
  for (std::size_t stage = 0; stage < stages; ++stage)
    shape.stages.push_back(
        {.features = options.features_per_stage[stage],
         .kernel = options.kernel_sizes[stage],
         .stride = options.strides[stage],
         .blocks = options.n_blocks_per_stage[stage],
         .decoder_convs =
             stage + 1 < stages ? options.n_conv_per_stage_decoder[stages - 2 - stage] : 0});
  return shape;
}

Axes divisors_of(const NnUNetShape& shape) {
  Axes divisors(static_cast<std::size_t>(shape.dims), 1);
  for (const NnUNetStage& stage : shape.stages)
    for (std::size_t axis = 0; axis < divisors.size(); ++axis)
      divisors[axis] *= stage.stride[axis];
  return divisors;
}

void check_images(const NnUNetShape& shape, const at::Tensor& images) {
  std::ostringstream message;
  message << '[' << shape.name << "] images must be [N, " << shape.in_channels
          << (shape.dims == 2 ? ", H, W]" : ", D, H, W]");
  if (images.dim() != shape.dims + 2 || images.size(1) != shape.in_channels) {
    message << ", got " << images.sizes();
    throw DataError(message.str());
  }
  const Axes divisors = divisors_of(shape);
  const at::IntArrayRef sides = images.sizes().slice(2);
  if (sides_fit(divisors, sides)) return;
  message << " with sides that are multiples of " << at::IntArrayRef(divisors)
          << ", one of them of more than once, got " << images.sizes() << "; pad them to "
          << at::IntArrayRef(padded(divisors, sides)) << " or more";
  throw DataError(message.str());
}

}  // namespace detail

std::vector<std::int64_t> nnunet_side_divisors(const NnUNetOptions& options) {
  return detail::divisors_of(detail::shape_of(detail::plain_conv_unet_kind, options));
}

}  // namespace headrace::inline v1::models
