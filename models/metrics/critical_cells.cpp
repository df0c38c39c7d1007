#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/critical_cells.h>
#include <headrace/models/metrics/detail/voxel_link.h>

#include <cstddef>
#include <limits>
#include <vector>

namespace headrace::inline v1::models {
namespace {

/// Voxels with one of 0 on each side.
class GrowingVolume {
 public:
  GrowingVolume(const VoxelBits& from, const VoxelBits& to)
      : height_(from.extent()[1] + 2),
        width_(from.extent()[2] + 2),
        state_(static_cast<std::size_t>((from.extent()[0] + 2) * height_ * width_)),
        around_(detail::link_places(height_, width_)) {
    const GridExtent& extent = from.extent();
    for (std::int64_t z = 0; z < extent[0]; ++z) {
      for (std::int64_t y = 0; y < extent[1]; ++y)
        read_row(from.row(z, y), to.row(z, y), extent[2], ((z + 1) * height_ + y + 1) * width_ + 1);
    }
  }

  CriticalCells grow() {
    for (const std::int32_t place : missing_)
      wait_if_touched(place);
    std::size_t isolated = 0;
    for (;;) {
      if (take(simple_, waits)) {
        add_or_put_off(place_);
      } else if (take(filling_, put_off) || take(joining_, put_off)) {
        add_critical_or_put_off(place_);
      } else if (isolated < missing_.size()) {
        // Whatever is left touches nothing: a component of its own.
        place_ = missing_[isolated++];
        if (is_missing(place_)) add(place_, link(place_));
      } else {
        return cells_;
      }
    }
  }

 private:
  enum : std::uint8_t { present = 1, wanted = 2, waits = 4, put_off = 8 };

  /// First in, first out.
  struct Queue {
    std::vector<std::int32_t> places{};
    std::size_t next = 0;
  };

  void read_row(const std::uint64_t* from, const std::uint64_t* to, std::int64_t width,
                std::int64_t first) {
    for (std::int64_t x = 0; x < width; ++x) {
      const auto has = static_cast<std::uint8_t>(from[x / 64] >> (x % 64) & 1U);
      const auto gets = static_cast<std::uint8_t>(to[x / 64] >> (x % 64) & 1U);
      if (has != 0 && gets == 0)
        throw DataError("[critical cells] a volume can only grow, got one that loses voxels");
      if (has == gets && has == 0) continue;
      const std::int64_t place = first + x;
      at(static_cast<std::int32_t>(place)) = has != 0 ? present : wanted;
      if (has == 0) missing_.push_back(static_cast<std::int32_t>(place));
    }
  }

  std::uint8_t& at(std::int32_t place) { return state_[static_cast<std::size_t>(place)]; }
  bool is_missing(std::int32_t place) { return (at(place) & wanted) != 0; }

  detail::VoxelLink link(std::int32_t place) const {
    return detail::link_of(state_.data() + place, around_);
  }

  void wait_if_touched(std::int32_t place) {
    for (const std::int32_t step : around_) {
      if ((at(place + step) & present) == 0) continue;
      wait(place, simple_, waits);
      return;
    }
  }

  void wait(std::int32_t place, Queue& queue, std::uint8_t as) {
    if ((at(place) & as) != 0) return;
    at(place) = static_cast<std::uint8_t>(at(place) | as);
    queue.places.push_back(place);
  }

  /// Takes what waits in a queue, if it does.
  bool take(Queue& queue, std::uint8_t as) {
    if (queue.next == queue.places.size()) {
      queue.places.clear();
      queue.next = 0;
      return false;
    }
    place_ = queue.places[queue.next++];
    at(place_) = static_cast<std::uint8_t>(at(place_) & ~as);
    return true;
  }

  void add_or_put_off(std::int32_t place) {
    if (!is_missing(place)) return;
    const detail::VoxelLink found = link(place);
    if (found.is_empty()) return;
    if (found.is_simple()) {
      add(place, found);
    } else {
      wait(place, found.joins() ? joining_ : filling_, put_off);
    }
  }

  /// What fills goes before what joins: a tunnel that is joined only to be filled counts twice.
  void add_critical_or_put_off(std::int32_t place) {
    if (!is_missing(place)) return;
    const detail::VoxelLink found = link(place);
    if (found.joins() && filling_.next < filling_.places.size()) {
      wait(place, joining_, put_off);
    } else {
      add(place, found);
    }
  }

  void add(std::int32_t place, const detail::VoxelLink& found) {
    at(place) = present;
    for (std::size_t k = 0; k < 4; ++k)
      cells_.count[k] += found.cells[k];
    for (const std::int32_t step : around_) {
      if (is_missing(place + step)) wait(place + step, simple_, waits);
    }
  }

  std::int64_t height_;
  std::int64_t width_;
  std::vector<std::uint8_t> state_;
  detail::LinkPlaces around_;
  std::vector<std::int32_t> missing_{};
  Queue simple_{};
  Queue filling_{};
  Queue joining_{};
  std::int32_t place_ = 0;
  CriticalCells cells_{};
};

}  // namespace

CriticalCells critical_cells(const VoxelBits& from, const VoxelBits& to) {
  if (from.extent() != to.extent())
    throw DataError("[critical cells] volumes must be of one extent");
  double voxels = 1.0;  // with a border, by int32 places
  for (const std::int64_t side : from.extent())
    voxels *= static_cast<double>(side + 2);
  if (voxels > static_cast<double>(std::numeric_limits<std::int32_t>::max()))
    throw DataError("[critical cells] a volume must have fewer than 2^31 voxels with its border");
  return GrowingVolume(from, to).grow();
}

}  // namespace headrace::inline v1::models
