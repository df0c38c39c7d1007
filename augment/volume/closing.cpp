#include <headrace/augment/volume/closing.h>
#include <headrace/augment/volume/detail/distance.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace headrace::inline v1 {
namespace {

std::int64_t margin_of(const Closing& closing) {
  if (!(closing.radius >= 0.0 && closing.radius <= 1000.0)) {
    throw ConfigError("[closing] radius must be 0 to 1000 voxels, got " +
                      std::to_string(closing.radius));
  }
  return static_cast<std::int64_t>(std::ceil(closing.radius));
}

/// A label and the box about its voxels.
struct LabelBox {
  std::int64_t label = 0;
  GridBox box{};
};

template <class Label>
std::vector<LabelBox> find_boxes(const Label* labels, const GridExtent& extent) {
  constexpr auto most = std::numeric_limits<Label>::max(),
                 least = std::numeric_limits<Label>::min();
  constexpr auto kinds = static_cast<std::size_t>(most - least + 1);
  std::vector<GridBox> boxes(kinds, {extent, {0, 0, 0}});
  const auto widen = [&](std::size_t kind, std::int64_t z, std::int64_t y, std::int64_t x) {
    GridBox& box = boxes[kind];
    const GridExtent at{z, y, x};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      box.begin[axis] = std::min(box.begin[axis], at[axis]);
      box.end[axis] = std::max(box.end[axis], at[axis] + 1);
    }
  };
  for (std::int64_t z = 0; z < extent[0]; ++z) {
    for (std::int64_t y = 0; y < extent[1]; ++y) {
      for (std::int64_t x = 0; x < extent[2]; ++x, ++labels)
        if (*labels != 0) widen(static_cast<std::size_t>(*labels - least), z, y, x);
    }
  }
  std::vector<LabelBox> found;
  for (std::size_t kind = 0; kind < kinds; ++kind)
    if (voxels_of(boxes[kind].end) > 0)
      found.push_back({static_cast<std::int64_t>(kind) + least, boxes[kind]});
  return found;
}

/// A box with a margin on all sides.
class MarginGrid {
 public:
  MarginGrid(const GridBox& box, std::int64_t margin) : box_(box), margin_(margin) {
    for (std::size_t axis = 0; axis < 3; ++axis)
      sides_[axis] = box.end[axis] - box.begin[axis] + 2 * margin;
  }

  std::size_t size() const { return static_cast<std::size_t>(voxels_of(sides_)); }
  detail::LabelGrid grid() const { return {sides_[0], sides_[1], sides_[2]}; }

  /// Calls `use` with the place of each row of the box in the volume and here.
  template <class Use>
  void for_rows(const GridExtent& extent, const Use& use) const {
    for (std::int64_t z = box_.begin[0]; z < box_.end[0]; ++z) {
      for (std::int64_t y = box_.begin[1]; y < box_.end[1]; ++y) {
        const std::int64_t row = (z - box_.begin[0] + margin_) * sides_[1] + y - box_.begin[1];
        use((z * extent[1] + y) * extent[2] + box_.begin[2], (row + margin_) * sides_[2] + margin_,
            box_.end[2] - box_.begin[2]);
      }
    }
  }

 private:
  GridBox box_;
  std::int64_t margin_;
  GridExtent sides_{};
};

/// Squares of distances between voxels are whole numbers.
struct Ball {
  explicit Ball(double radius)
      : squares(static_cast<std::int64_t>(std::floor(radius * radius + 1e-9))),
        beyond(static_cast<float>(radius) + 2.0F) {}

  bool reaches(float distance) const {
    const auto exact = static_cast<double>(distance);
    return std::llround(exact * exact) <= squares;
  }

  std::int64_t squares;
  float beyond;
};

template <class Label>
std::int64_t close_one(Label* labels, const GridExtent& extent, const LabelBox& of, double radius,
                       std::int64_t margin) {
  const Ball ball(radius);
  const MarginGrid part(of.box, margin);
  const auto label = static_cast<Label>(of.label);
  std::vector<std::uint8_t> features(part.size());
  std::vector<float> away(part.size());
  part.for_rows(extent, [&](std::int64_t from, std::int64_t to, std::int64_t count) {
    for (std::int64_t x = 0; x < count; ++x)
      features[static_cast<std::size_t>(to + x)] = labels[from + x] == label ? 1 : 0;
  });
  detail::DistanceTask task{
      .features = features.data(), .grid = part.grid(), .most = ball.beyond, .out = away.data()};
  detail::distances(task);
  for (std::size_t i = 0; i < features.size(); ++i)  // what the grown label leaves
    features[i] = ball.reaches(away[i]) ? 0 : 1;
  detail::distances(task);
  std::int64_t filled = 0;
  part.for_rows(extent, [&](std::int64_t to, std::int64_t from, std::int64_t count) {
    for (std::int64_t x = 0; x < count; ++x) {
      if (labels[to + x] != 0 || ball.reaches(away[static_cast<std::size_t>(from + x)])) continue;
      labels[to + x] = label;
      ++filled;
    }
  });
  return filled;
}

template <class Label>
std::int64_t close_all(std::span<Label> labels, const GridExtent& extent, const Closing& closing) {
  const std::int64_t margin = margin_of(closing);
  if (voxels_of(extent) != static_cast<std::int64_t>(labels.size())) {
    throw ConfigError("[closing] extent says " + std::to_string(voxels_of(extent)) +
                      " voxels, got " + std::to_string(labels.size()));
  }
  const std::vector<LabelBox> boxes = find_boxes(labels.data(), extent);
  std::int64_t filled = 0;
  const auto close = [&](const LabelBox& of) {
    filled += close_one(labels.data(), extent, of, closing.radius, margin);
  };
  if (closing.labels.empty()) std::ranges::for_each(boxes, close);
  for (const std::int64_t label : closing.labels) {
    const auto found = std::ranges::find(boxes, label, &LabelBox::label);
    if (found != boxes.end()) close(*found);
  }
  return filled;
}

}  // namespace

std::int64_t close_labels(std::span<std::uint8_t> labels, const GridExtent& extent,
                          const Closing& closing) {
  return close_all(labels, extent, closing);
}

std::int64_t close_labels(std::span<std::int16_t> labels, const GridExtent& extent,
                          const Closing& closing) {
  return close_all(labels, extent, closing);
}

}  // namespace headrace::inline v1
