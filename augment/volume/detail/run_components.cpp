#include <headrace/augment/volume/detail/run_components.h>
#include <headrace/augment/volume/detail/unions.h>

#include <algorithm>

namespace headrace::inline v1::detail {
namespace {

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

}  // namespace

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

template LabelRuns find_components(const std::uint8_t*, const GridExtent&, const ComponentRule&);
template LabelRuns find_components(const std::int16_t*, const GridExtent&, const ComponentRule&);

}  // namespace headrace::inline v1::detail
