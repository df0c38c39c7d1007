#include <headrace/augment/volume/components.h>
#include <headrace/augment/volume/detail/unions.h>
#include <headrace/augment/volume/grid_extent.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {
namespace {

/// Voxels of one label side by side in a row.
struct LabelRun {
  std::int64_t row = 0;  ///< z * height + y
  std::int32_t begin = 0;
  std::int32_t end = 0;  ///< one beyond
  std::int32_t label = 0;
  std::int32_t component = 0;  ///< from 0, in the order of their first voxels
};

struct LabelRuns {
  std::vector<LabelRun> runs;
  std::int32_t components = 0;
};

template <class Label>
void find_row_runs(const Label* row, std::int64_t width, std::int64_t number, bool by_label,
                   std::vector<LabelRun>& runs) {
  for (std::int64_t x = 0; x < width;) {
    if (row[x] == 0) {
      ++x;
      continue;
    }
    const std::int64_t begin = x;
    const Label label = row[x];
    while (x < width && (by_label ? row[x] == label : row[x] != 0))
      ++x;
    runs.push_back({.row = number,
                    .begin = static_cast<std::int32_t>(begin),
                    .end = static_cast<std::int32_t>(x),
                    .label = by_label ? static_cast<std::int32_t>(label) : 1});
  }
}

/// Runs of a row: [first, last).
struct RowRuns {
  std::int64_t first;
  std::int64_t last;
};

/// Joins the runs of two rows that overlap, or that would if one reached `aside` voxels further.
void join_rows(const std::vector<LabelRun>& runs, RowRuns a, RowRuns b, std::int32_t aside,
               Unions& unions) {
  const auto join_touching = [&](std::int64_t i, std::int64_t j) {
    const LabelRun& one = runs[static_cast<std::size_t>(i)];
    const LabelRun& other = runs[static_cast<std::size_t>(j)];
    if (one.label == other.label && one.begin < other.end + aside && other.begin < one.end + aside)
      unions.join(static_cast<std::int32_t>(i), static_cast<std::int32_t>(j));
  };
  while (a.first < a.last && b.first < b.last) {
    join_touching(a.first, b.first);
    const std::int32_t end = runs[static_cast<std::size_t>(a.first)].end;
    const std::int32_t other_end = runs[static_cast<std::size_t>(b.first)].end;
    if (other_end < end) {
      ++b.first;
      continue;
    }
    // Where both end, each may touch the next of the other aside.
    if (other_end == end && b.first + 1 < b.last) join_touching(a.first, b.first + 1);
    ++a.first;
  }
}

/// Rows before a row that its voxels touch, and how far aside.
struct RowStep {
  std::int64_t z;
  std::int64_t y;
  std::int32_t aside;
};

std::vector<RowStep> steps_of(Neighbours neighbours) {
  switch (neighbours) {
    case Neighbours::faces:
      return {{0, -1, 0}, {-1, 0, 0}};
    case Neighbours::edges:
      return {{0, -1, 1}, {-1, -1, 0}, {-1, 0, 1}, {-1, 1, 0}};
    case Neighbours::corners:
      break;
  }
  return {{0, -1, 1}, {-1, -1, 1}, {-1, 0, 1}, {-1, 1, 1}};
}

void number_components(LabelRuns& found, Unions& unions) {
  std::vector<std::int32_t> numbers(found.runs.size());
  for (std::size_t i = 0; i < found.runs.size(); ++i) {
    const std::int32_t root = unions.find(static_cast<std::int32_t>(i));
    if (root == static_cast<std::int32_t>(i)) numbers[i] = found.components++;
    found.runs[i].component = numbers[static_cast<std::size_t>(root)];
  }
}

/// The runs of all labels but 0, and which of them hang together: first each run joins those of the
/// rows before it (union-find), then components are numbered. Takes time in proportion to the
/// voxels and memory to the runs.
template <class Label>
LabelRuns find_components(const Label* labels, const GridExtent& extent,
                          const ComponentRule& rule) {
  const std::int64_t rows = extent[0] * extent[1];
  LabelRuns found;
  std::vector<std::int64_t> first(static_cast<std::size_t>(rows + 1));
  for (std::int64_t row = 0; row < rows; ++row) {
    find_row_runs(labels + row * extent[2], extent[2], row, rule.by_label, found.runs);
    first[static_cast<std::size_t>(row + 1)] = static_cast<std::int64_t>(found.runs.size());
  }
  const auto runs_of = [&](std::int64_t row) {
    return RowRuns{first[static_cast<std::size_t>(row)], first[static_cast<std::size_t>(row + 1)]};
  };
  std::vector<std::int32_t> memory(found.runs.size());
  Unions unions(memory);
  for (const RowStep& step : steps_of(rule.neighbours)) {
    for (std::int64_t z = -step.z; z < extent[0]; ++z) {
      const std::int64_t begin = std::max<std::int64_t>(0, -step.y);
      const std::int64_t end = std::min(extent[1], extent[1] - step.y);
      for (std::int64_t y = begin; y < end; ++y) {
        const std::int64_t row = z * extent[1] + y;
        join_rows(found.runs, runs_of(row), runs_of(row + step.z * extent[1] + step.y), step.aside,
                  unions);
      }
    }
  }
  number_components(found, unions);
  return found;
}

}  // namespace
}  // namespace headrace::inline v1::detail

namespace headrace::inline v1 {
namespace {

void check_spans(const GridExtent& extent, std::size_t labels, std::size_t numbers) {
  double voxels = 1.0;
  for (const std::int64_t side : extent)
    voxels *= static_cast<double>(std::max<std::int64_t>(side, 0));
  if (voxels >= 2147483648.0)
    throw ConfigError("[components] a volume must have fewer than 2^31 voxels");
  if (static_cast<double>(labels) != voxels || labels != numbers) {
    throw ConfigError("[components] extent says " + std::to_string(voxels_of(extent)) +
                      " voxels, got " + std::to_string(labels) + " labels and place for " +
                      std::to_string(numbers));
  }
}

template <class Label>
std::int32_t number_voxels(std::span<const Label> labels, const GridExtent& extent,
                           const ComponentRule& rule, std::span<std::int32_t> numbers) {
  check_spans(extent, labels.size(), numbers.size());
  const detail::LabelRuns found = detail::find_components(labels.data(), extent, rule);
  std::ranges::fill(numbers, 0);
  for (const detail::LabelRun& run : found.runs) {
    std::int32_t* row = numbers.data() + run.row * extent[2];
    std::fill(row + run.begin, row + run.end, run.component + 1);
  }
  return found.components;
}

struct Component {
  std::int32_t label = 0;
  std::int64_t voxels = 0;
};

std::vector<Component> measure(const detail::LabelRuns& found) {
  std::vector<Component> all(static_cast<std::size_t>(found.components));
  for (const detail::LabelRun& run : found.runs) {
    Component& component = all[static_cast<std::size_t>(run.component)];
    component.label = run.label;
    component.voxels += run.end - run.begin;
  }
  return all;
}

/// For each component whether it goes.
std::vector<bool> choose(const std::vector<Component>& all, const ComponentFilter& filter) {
  std::map<std::int32_t, std::size_t> largest;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto [at, is_new] = largest.try_emplace(all[i].label, i);
    if (!is_new && all[i].voxels > all[at->second].voxels) at->second = i;
  }
  std::vector<bool> goes(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool asked = filter.labels.empty() || std::ranges::count(filter.labels, all[i].label) > 0;
    const bool small = all[i].voxels < filter.least;
    const bool lesser = filter.keep_largest && largest.at(all[i].label) != i;
    goes[i] = asked && (small || lesser);
  }
  return goes;
}

template <class Label>
std::int64_t remove(std::span<Label> labels, const GridExtent& extent,
                    const ComponentFilter& filter) {
  check_spans(extent, labels.size(), labels.size());
  const detail::LabelRuns found =
      detail::find_components(labels.data(), extent, {.neighbours = filter.neighbours});
  const std::vector<bool> goes = choose(measure(found), filter);
  for (const detail::LabelRun& run : found.runs) {
    if (!goes[static_cast<std::size_t>(run.component)]) continue;
    Label* row = labels.data() + run.row * extent[2];
    std::fill(row + run.begin, row + run.end, Label{0});
  }
  return std::ranges::count(goes, true);
}

}  // namespace

std::int32_t label_components(std::span<const std::uint8_t> labels, const GridExtent& extent,
                              const ComponentRule& rule, std::span<std::int32_t> numbers) {
  return number_voxels(labels, extent, rule, numbers);
}

std::int32_t label_components(std::span<const std::int16_t> labels, const GridExtent& extent,
                              const ComponentRule& rule, std::span<std::int32_t> numbers) {
  return number_voxels(labels, extent, rule, numbers);
}

std::int64_t remove_components(std::span<std::uint8_t> labels, const GridExtent& extent,
                               const ComponentFilter& filter) {
  return remove(labels, extent, filter);
}

std::int64_t remove_components(std::span<std::int16_t> labels, const GridExtent& extent,
                               const ComponentFilter& filter) {
  return remove(labels, extent, filter);
}

}  // namespace headrace::inline v1
