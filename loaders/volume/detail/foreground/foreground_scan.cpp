#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/internal/in_parallel.h>
#include <headrace/loaders/volume/detail/foreground/foreground_table.h>
#include <headrace/loaders/volume/detail/voxel/visit_dtype.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

/// Voxels of a label in a cell.
struct Found {
  std::int64_t label;
  std::uint32_t cell;
  std::uint32_t count;
};

void widen(VolumeBox& bounds, const VolumeBox& more) {
  if (more.empty()) return;
  if (bounds.empty()) {
    bounds = more;
    return;
  }
  for (std::size_t axis = 0; axis < 4; ++axis) {
    bounds.begin[axis] = std::min(bounds.begin[axis], more.begin[axis]);
    bounds.end[axis] = std::max(bounds.end[axis], more.end[axis]);
  }
}

/// Counts the labels of one cell after the other.
class CellCounter {
 public:
  CellCounter(const CachedVolume& labels, const ForegroundOptions& options)
      : labels_(labels), options_(options) {}

  void count(const VolumeBox& box) {
    counts_.clear();
    bounds_ = {};
    const std::vector<std::byte> voxels = box_voxels(labels_, box);
    const auto row = static_cast<std::size_t>(box.shape()[3]);
    visit_dtype(labels_.info().dtype, [&](auto element) {
      const std::byte* at = voxels.data();
      VolumeIndex place = box.begin;
      for (place[0] = box.begin[0]; place[0] < box.end[0]; ++place[0])
        for (place[1] = box.begin[1]; place[1] < box.end[1]; ++place[1])
          for (place[2] = box.begin[2]; place[2] < box.end[2]; ++place[2]) {
            count_row<decltype(element)>(at, row, place);
            at += row * sizeof element;
          }
    });
  }

  const std::vector<std::pair<std::int64_t, std::uint32_t>>& counts() const { return counts_; }
  const VolumeBox& bounds() const { return bounds_; }

 private:
  /// Labels come in runs.
  template <class T>
  void count_row(const std::byte* at, std::size_t count, const VolumeIndex& place) {
    for (std::size_t i = 0; i < count;) {
      std::size_t end = i + 1;
      while (end < count && std::memcmp(at + end * sizeof(T), at + i * sizeof(T), sizeof(T)) == 0)
        ++end;
      T element;
      std::memcpy(static_cast<void*>(&element), at + i * sizeof element, sizeof element);
      add(number_of(element), place,
          {static_cast<std::int64_t>(i), static_cast<std::int64_t>(end)});
      i = end;
    }
  }

  void add(double number, const VolumeIndex& row, std::pair<std::int64_t, std::int64_t> run) {
    const double value = number * labels_.info().scale + labels_.info().offset;
    if (!(std::abs(value) <= 0x1p53) || value != std::floor(value)) {
      throw DataError("[foreground] " + labels_.volume().name() +
                      ": a label must be a whole number, got " + in_digits(value) +
                      "; is it another volume?");
    }
    const auto label = static_cast<std::int64_t>(value);
    if (!is_foreground(label)) return;
    VolumeBox box{{row[0], row[1], row[2], row[3] + run.first},
                  {row[0] + 1, row[1] + 1, row[2] + 1, row[3] + run.second}};
    widen(bounds_, box);
    const auto voxels = static_cast<std::uint32_t>(run.second - run.first);
    for (auto& [known, count] : counts_) {
      if (known != label) continue;
      count += voxels;
      return;
    }
    counts_.emplace_back(label, voxels);
  }

  bool is_foreground(std::int64_t label) const {
    if (options_.ignore && *options_.ignore == label) return false;
    const std::vector<std::int64_t>& wanted = options_.labels;
    if (!wanted.empty()) return std::find(wanted.begin(), wanted.end(), label) != wanted.end();
    if (label >= 0 && label <= 255) return label != 0;
    throw DataError("[foreground] " + labels_.volume().name() +
                    ": a label must be from 0 to 255, got " + std::to_string(label) +
                    "; name the labels that are foreground, or the one to be ignored");
  }

  const CachedVolume& labels_;
  const ForegroundOptions& options_;
  std::vector<std::pair<std::int64_t, std::uint32_t>> counts_;
  VolumeBox bounds_;
};

/// Sorts what was found into the table.
void fill(ForegroundTable& table, std::vector<Found>& found) {
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::tie(a.label, a.cell) < std::tie(b.label, b.cell);
  });
  for (const Found& one : found) {
    if (table.classes.empty() || table.classes.back().label != one.label)
      table.classes.push_back({one.label, {}, {}});
    ForegroundTable::Class& there = table.classes.back();
    there.ends.push_back((there.ends.empty() ? 0 : there.ends.back()) + one.count);
    there.cells.push_back(one.cell);
  }
  for (ForegroundTable::Class& there : table.classes) {
    there.cells.shrink_to_fit();
    there.ends.shrink_to_fit();
  }
}

}  // namespace

ForegroundTable scan_foreground(const CachedVolume& labels, const ForegroundOptions& options) {
  ForegroundTable table{CellGrid::of(labels.info()), {}, {}};
  const std::int64_t cells = voxels_of(table.grid());
  std::vector<Found> found;
  std::int64_t done = 0;
  std::mutex mutex;
  const auto make = [&] {
    return [&, counter = CellCounter(labels, options)](std::size_t cell) mutable {
      counter.count(table.box(static_cast<std::int64_t>(cell)));
      const std::lock_guard lock(mutex);
      for (const auto& [label, count] : counter.counts())
        found.push_back({label, static_cast<std::uint32_t>(cell), count});
      widen(table.bounds, counter.bounds());
      if (options.on_progress) options.on_progress(++done, cells);
    };
  };
  in_parallel(static_cast<std::size_t>(cells), static_cast<std::size_t>(options.threads), make);
  fill(table, found);
  return table;
}

}  // namespace headrace::inline v1::detail
