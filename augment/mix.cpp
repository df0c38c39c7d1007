#include <headrace/augment/detail/beta.h>
#include <headrace/augment/detail/blend.h>
#include <headrace/augment/detail/picture.h>
#include <headrace/augment/mix.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/tensor/half_floats.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace headrace::inline v1 {
namespace {

using Draw = MixBatch::Draw;

/// Rows of a batch; `from` and `to` are before and after. The second line is of pictures.
struct Rows {
  const std::uint8_t* from;
  std::uint8_t* to;
  DType dtype;
  std::int64_t bytes;      ///< of a row
  std::int64_t row_bytes;  ///< of a line of pixels
  std::int64_t pixel_bytes;
};

Rows rows_of(const Tensor& from, const Tensor& to) {
  const Shape& shape = from.shape();
  const auto bytes = static_cast<std::int64_t>(from.bytes()) / std::max<std::int64_t>(shape[0], 1);
  const bool pictures = shape.rank() == 4;
  return {.from = static_cast<const std::uint8_t*>(from.raw()),
          .to = static_cast<std::uint8_t*>(to.raw()),
          .dtype = from.dtype(),
          .bytes = bytes,
          .row_bytes = pictures ? shape[2] * shape[3] : 0,
          .pixel_bytes = pictures ? shape[3] : 0};
}

template <class T>
void blend_floats(const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* to,
                  std::int64_t bytes, float share) {
  const auto* mine = reinterpret_cast<const T*>(a);
  const auto* other = reinterpret_cast<const T*>(b);
  auto* mixed = reinterpret_cast<T*>(to);
  const float rest = 1.0F - share;
  for (std::int64_t i = 0; i < bytes / static_cast<std::int64_t>(sizeof(T)); ++i)
    from_float(share * to_float(mine[i]) + rest * to_float(other[i]), mixed[i]);
}

void blend_rows(DType dtype, const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* to,
                std::int64_t bytes, float share) {
  if (share == 1.0F && dtype != DType::uint8)
    std::memcpy(to, a, static_cast<std::size_t>(bytes));
  else if (dtype == DType::float32)
    blend_floats<float>(a, b, to, bytes, share);
  else if (dtype == DType::float16)
    blend_floats<float16_t>(a, b, to, bytes, share);
  else if (dtype == DType::bfloat16)
    blend_floats<bfloat16_t>(a, b, to, bytes, share);
  else
    detail::blend(a, b, to, bytes, share);
}

void mix_row(const Rows& rows, const Draw& draw, std::int64_t own, std::int64_t partner) {
  const std::int64_t bytes = rows.bytes;
  const std::uint8_t* mine = rows.from + own * bytes;
  const std::uint8_t* other = rows.from + partner * bytes;
  std::uint8_t* to = rows.to + own * bytes;
  if (!draw.cut) {
    blend_rows(rows.dtype, mine, other, to, bytes, draw.lambda);
    return;
  }
  std::memcpy(to, mine, static_cast<std::size_t>(bytes));
  const std::int64_t left = draw.left * rows.pixel_bytes;
  for (std::int64_t y = draw.top; y < draw.bottom; ++y) {
    const std::int64_t at = y * rows.row_bytes + left;
    std::memcpy(to + at, other + at,
                static_cast<std::size_t>((draw.right - draw.left) * rows.pixel_bytes));
  }
}

/// Where the labels of a batch go: soft ones, or the partner's and lambda.
struct Labels {
  const std::int64_t* from = nullptr;
  float* soft = nullptr;
  std::int64_t* partner = nullptr;
  float* lambda = nullptr;
};

void check_class(const MixBatch& op, std::int64_t label) {
  if (label >= 0 && label < op.classes) return;
  throw PipelineError("[mix] field \"" + op.label + "\" must hold classes 0 to " +
                      std::to_string(op.classes - 1) + ", got " + std::to_string(label));
}

void mix_label(const MixBatch& op, const Labels& labels, float lambda, std::int64_t own,
               std::int64_t partner) {
  const std::int64_t mine = labels.from[own];
  const std::int64_t other = labels.from[partner];
  if (labels.soft == nullptr) {
    labels.lambda[own] = lambda;
    labels.partner[own] = other;
    return;
  }
  check_class(op, mine);
  check_class(op, other);
  const auto off = static_cast<float>(op.smoothing / op.classes);
  const auto spread = static_cast<float>(1.0 - op.smoothing);
  float* soft = labels.soft + own * op.classes;
  std::fill_n(soft, op.classes, off);
  soft[mine] += spread * lambda;
  soft[other] += spread * (1.0F - lambda);
}

Labels make_labels(const MixBatch& op, Batch& batch, const Tensor& from) {
  const std::int64_t rows = from.shape()[0];
  Labels labels{.from = from.data<std::int64_t>()};
  if (op.classes > 0) {
    labels.soft = batch.make(op.label, DType::float32, Shape{rows, op.classes}).data<float>();
  } else {
    labels.partner =
        batch.make(op.label + "_partner", DType::int64, Shape{rows}).data<std::int64_t>();
    labels.lambda = batch.make("lambda", DType::float32, Shape{rows}).data<float>();
  }
  return labels;
}

bool is_blended(DType dtype) {
  return dtype == DType::uint8 || dtype == DType::float16 || dtype == DType::bfloat16 ||
         dtype == DType::float32;
}

/// Whether rows of that type and rank can be mixed; boxes are of pictures alone.
bool can_mix(const MixBatch& op, DType dtype, int rank) {
  return (dtype == DType::uint8 && rank == 3) ||
         (op.cutmix_alpha == 0 && is_blended(dtype) && rank >= 1);
}

void check_batch(const MixBatch& op, const Tensor& images, const Tensor& labels) {
  const Shape& shape = images.shape();
  if (!can_mix(op, images.dtype(), shape.rank() - 1) || labels.dtype() != DType::int64 ||
      labels.shape() != Shape{shape[0]}) {
    throw PipelineError(
        "[mix] fields must be uint8 [rows, height, width, channels] (of Mixup alone also float16, "
        "bfloat16 or float32 of any shape) and int64 [rows], got " +
        std::string(name_of(images.dtype())) + " " + to_string(shape) + " and " +
        std::string(name_of(labels.dtype())) + " " + to_string(labels.shape()) +
        "; mix before Normalize");
  }
  if (images.device().is_cuda() || labels.device().is_cuda()) {
    throw DeviceError("[mix] works in host memory, this batch \"" + op.field + "\" is on " +
                      to_string(images.device()) + "; mix in a loader that delivers to the CPU");
  }
}

}  // namespace

Schema MixBatch::schema(const Schema& in) const {
  const auto number = [](double v) { return std::to_string(v); };
  if (!(mixup_alpha >= 0 && mixup_alpha <= 1000) || !(cutmix_alpha >= 0 && cutmix_alpha <= 1000) ||
      (mixup_alpha == 0 && cutmix_alpha == 0)) {
    throw ConfigError("[mix] mixup_alpha and cutmix_alpha must be 0 to 1000 and not both 0, got " +
                      number(mixup_alpha) + ", " + number(cutmix_alpha));
  }
  detail::check_probability(p, name());
  detail::check_probability(cutmix_share, name(), "cutmix_share");
  detail::check_probability(smoothing, name(), "smoothing");
  if (group < 2 || classes < 0) {
    throw ConfigError("[mix] group must be 2 or more and classes 0 or more, got " +
                      std::to_string(group) + ", " + std::to_string(classes));
  }
  const FieldSpec& mixed = in.at(field, name());
  if (cutmix_alpha > 0 || mixed.shape.rank() == 0)
    detail::picture_field(in, field, name());
  else if (mixed.kind != FieldSpec::Kind::fixed || !is_blended(mixed.dtype))
    throw ConfigError("[mix] field \"" + field +
                      "\" must be uint8, float16, bfloat16 or float32, all of one shape, got " +
                      to_string(mixed));
  const FieldSpec& hard = in.at(label, name());
  if (hard.dtype != DType::int64 || hard.shape.rank() != 0) {
    throw ConfigError("[mix] field \"" + label + "\" must be int64 [], got " + to_string(hard));
  }
  Schema out = in;
  if (classes > 0) {
    out.put(FieldSpec::fixed(label, DType::float32, Shape{classes}));
  } else {
    for (const std::string& added : {label + "_partner", std::string("lambda")}) {
      if (in.find(added) == nullptr) continue;
      throw ConfigError("[mix] field \"" + added + "\" must be free, it is " +
                        to_string(in.at(added)) + "; give classes for soft labels");
    }
    out.put(FieldSpec::fixed(label + "_partner", DType::int64, Shape{}));
    out.put(FieldSpec::fixed("lambda", DType::float32, Shape{}));
  }
  return out;
}

Draw MixBatch::draw(std::uint64_t order_seed, std::int64_t epoch, std::int64_t position,
                    std::int64_t height, std::int64_t width) const {
  Random random(RandomKey{.seed = order_seed,
                          .loader = seed,
                          .epoch = epoch,
                          .position = position,
                          .operation = static_cast<std::uint32_t>(hash_name("mix batch"))});
  Draw draw;
  if (!random.chance(p)) return draw;
  draw.cut = mixup_alpha == 0 || (cutmix_alpha > 0 && random.chance(cutmix_share));
  const double lambda = detail::draw_beta(draw.cut ? cutmix_alpha : mixup_alpha, random);
  if (!draw.cut) {
    draw.lambda = static_cast<float>(lambda);
    return draw;
  }
  const std::int64_t x = random.below(width);
  const std::int64_t y = random.below(height);
  const double half = 0.5 * std::sqrt(1.0 - lambda);
  const auto half_width = static_cast<std::int64_t>(half * static_cast<double>(width));
  const auto half_height = static_cast<std::int64_t>(half * static_cast<double>(height));
  draw.left = std::max<std::int64_t>(x - half_width, 0);
  draw.right = std::min(x + half_width, width);
  draw.top = std::max<std::int64_t>(y - half_height, 0);
  draw.bottom = std::min(y + half_height, height);
  const auto area = static_cast<double>((draw.right - draw.left) * (draw.bottom - draw.top));
  draw.lambda =
      static_cast<float>(1.0 - area / (static_cast<double>(width) * static_cast<double>(height)));
  return draw;
}

void MixBatch::operator()(Batch& batch) const {
  const Tensor images = batch[field];
  const Tensor hard = batch[label];
  check_batch(*this, images, hard);
  const Shape shape = images.shape();
  const Position after = batch.position_after();
  // Rows of a rank have positions one after another; absent ones, at the end, have none.
  const std::int64_t first = batch.size() > 0 ? batch.rows(0, 1).origins()[0].position : -1;
  if (first >= 0 && first % group != 0) {
    throw PipelineError("[mix] each rank's share of a batch must be a multiple of group " +
                        std::to_string(group) + ", got a share that begins at position " +
                        std::to_string(first) +
                        "; choose another group or batch size, and drop or pad the tail");
  }
  const Rows rows = rows_of(images, batch.make(field, images.dtype(), shape));
  const std::int64_t height = shape.rank() == 4 ? shape[1] : 1;
  const std::int64_t width = shape.rank() == 4 ? shape[2] : 1;
  const Labels labels = make_labels(*this, batch, hard);
  const bool* valid = batch.has("valid") ? batch["valid"].data<bool>() : nullptr;
  for (std::int64_t begin = 0; begin < shape[0]; begin += group) {
    const std::int64_t end = std::min<std::int64_t>(begin + group, shape[0]);
    const bool present =
        valid == nullptr || std::all_of(valid + begin, valid + end, [](bool v) { return v; });
    const Draw drawn = first >= 0 && end - begin == group && present
                           ? draw(after.seed, after.epoch, first + begin, height, width)
                           : Draw{};
    for (std::int64_t own = begin; own < end; ++own) {
      const std::int64_t partner = own == begin ? end - 1 : own - 1;
      mix_row(rows, drawn, own, partner);
      mix_label(*this, labels, drawn.lambda, own, partner);
    }
  }
}

}  // namespace headrace::inline v1
