#include <headrace/augment/detail/scratch.h>
#include <headrace/augment/volume/deep_supervision_targets.h>
#include <headrace/augment/volume/detail/labels.h>
#include <headrace/augment/volume/detail/shrink.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace headrace::inline v1 {
namespace {

constexpr std::size_t most_levels = 16;

[[noreturn]] void refuse_targets(const std::string& rule, const std::string& got) {
  throw ConfigError("[deep supervision targets] " + rule + ", got " + got);
}

std::int64_t smaller_side(std::int64_t side, double factor, DeepSupervisionTargets::Sides rule) {
  const double exact = static_cast<double>(side) / factor;
  const double whole = rule == DeepSupervisionTargets::Sides::nearest ? std::nearbyint(exact)
                       : rule == DeepSupervisionTargets::Sides::down  ? std::floor(exact)
                                                                      : std::ceil(exact);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(whole));
}

detail::LabelGrid smaller(const detail::LabelGrid& grid, const std::array<double, 3>& factors,
                          DeepSupervisionTargets::Sides rule) {
  return {smaller_side(grid.depth, factors[0], rule), smaller_side(grid.height, factors[1], rule),
          smaller_side(grid.width, factors[2], rule)};
}

std::string level_name(const std::string& field, std::size_t level) {
  return field + "_" + std::to_string(level + 1);
}

}  // namespace

Schema DeepSupervisionTargets::schema(const Schema& in) const {
  const FieldSpec label = detail::label_field(in, field, name());
  if (label.kind != FieldSpec::Kind::fixed)
    refuse_targets("labels must be of a fixed size", to_string(label));
  if (factors.empty() || factors.size() > most_levels)
    refuse_targets("there must be 1 to 16 levels", std::to_string(factors.size()));
  Schema out = in;
  for (std::size_t level = 0; level < factors.size(); ++level) {
    for (double factor : factors[level]) {
      if (!(factor >= 1 && factor <= 1e6))
        refuse_targets("factors must be at least 1", std::to_string(factor));
    }
    const auto grid = smaller(detail::label_grid(label.shape), factors[level], sides);
    FieldSpec target = label;
    target.name = level_name(field, level);
    target.shape = detail::with_grid(label.shape, grid);
    out.put(target);
  }
  return out;
}

std::size_t DeepSupervisionTargets::working_bytes(const Schema& in) const {
  const Shape& shape = detail::label_field(in, field, name()).shape;
  return sizeof(std::int32_t) * static_cast<std::size_t>(detail::label_grid(shape).width);
}

void DeepSupervisionTargets::operator()(Sample& sample) const {
  static thread_local detail::Scratch scratch;
  const Tensor label = detail::label_of(sample, field);
  const detail::LabelGrid grid = detail::label_grid(label.shape());
  if (grid.count() == 0) throw DataError("field \"" + field + "\" must hold voxels, got none");
  auto* columns = scratch.reserve<std::int32_t>(static_cast<std::size_t>(grid.width));
  for (std::size_t level = 0; level < factors.size(); ++level) {
    const detail::LabelGrid small = smaller(grid, factors[level], sides);
    detail::make_columns(grid.width, small.width, columns);
    const Tensor& to = sample.make(level_name(field, level), label.dtype(),
                                   detail::with_grid(label.shape(), small));
    detail::with_labels(label, [&](const auto* from) {
      using Label = std::remove_cvref_t<decltype(*from)>;
      auto* out = to.template data<Label>();
      if (rule == Rule::nearest) {
        detail::shrink_nearest(from, grid, small, columns, out);
      } else {
        detail::shrink_surface(from, grid, small, ignore, out);
      }
    });
  }
}

}  // namespace headrace::inline v1
