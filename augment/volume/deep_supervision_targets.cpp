#include <headrace/augment/detail/scratch.h>
#include <headrace/augment/volume/deep_supervision_targets.h>
#include <headrace/augment/volume/detail/labels.h>
#include <headrace/augment/volume/detail/volume_filters.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace headrace::inline v1::detail {
namespace {

/// The voxels of one axis that a smaller one covers, in part or whole.
struct Covered {
  std::int64_t first;
  std::int64_t last;  ///< exclusive
};

Covered covered(std::int64_t at, std::int64_t from, std::int64_t to) {
  return {at * from / to, ((at + 1) * from + to - 1) / to};
}

/// Whether b is to be kept rather than a: foreground before `ignore` before 0, large before small.
template <class Label>
bool stronger(Label b, Label a, std::int64_t ignore) {
  const auto rank = [&](Label v) {
    return v == 0 ? 0 : static_cast<std::int64_t>(v) == ignore ? 1 : 2;
  };
  const int rank_a = rank(a);
  const int rank_b = rank(b);
  return rank_b != rank_a ? rank_b > rank_a : b > a;
}

/// The strongest label of a box.
template <class Label>
Label strongest(const Label* from, const LabelGrid& grid, const std::array<Covered, 3>& box,
                std::int64_t ignore) {
  Label best = 0;
  for (std::int64_t z = box[0].first; z < box[0].last; ++z) {
    for (std::int64_t y = box[1].first; y < box[1].last; ++y) {
      const Label* row = from + z * grid.plane() + y * grid.width;
      for (std::int64_t x = box[2].first; x < box[2].last; ++x) {
        if (row[x] != best && stronger(row[x], best, ignore)) best = row[x];
      }
    }
  }
  return best;
}

/// strongest() of what each smaller voxel covers.
template <class Label>
void shrink_surface(const Label* from, const LabelGrid& grid, const LabelGrid& small,
                    std::int64_t ignore, Label* to) {
  for (std::int64_t z = 0; z < small.depth; ++z) {
    for (std::int64_t y = 0; y < small.height; ++y) {
      for (std::int64_t x = 0; x < small.width; ++x) {
        *to++ =
            strongest(from, grid,
                      {covered(z, grid.depth, small.depth), covered(y, grid.height, small.height),
                       covered(x, grid.width, small.width)},
                      ignore);
      }
    }
  }
}

}  // namespace
}  // namespace headrace::inline v1::detail

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
    const detail::GridChange change{{grid.depth, grid.height, grid.width},
                                    {small.depth, small.height, small.width}};
    const Tensor& to = sample.make(level_name(field, level), label.dtype(),
                                   detail::with_grid(label.shape(), small));
    detail::with_labels(label, [&](const auto* from) {
      using Label = std::remove_cvref_t<decltype(*from)>;
      auto* out = to.template data<Label>();
      if (rule == Rule::nearest) {
        detail::take_nearest(from, change, columns, out);
      } else {
        detail::shrink_surface(from, grid, small, ignore, out);
      }
    });
  }
}

}  // namespace headrace::inline v1
